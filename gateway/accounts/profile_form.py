"""The profile as a form: a field for each attribute that the user may see.

Keycloak: 16.1, AccountRestService.updateAccount
"""

from collections.abc import Mapping
from typing import Final

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.authentication.profile_updates import (
    OwnProfile,
    ProfileRejected,
    ProfileUpdates,
    change_details,
)
from gateway.domain.authentication import ProfileField
from gateway.domain.events import Detail, EventType

_CONTEXT: Final = "ACCOUNT"


class AccountProfileForm:
    """Reads and takes the form. Methods raise Forbidden and StoreUnavailable."""

    def __init__(self, updates: ProfileUpdates) -> None:
        self._updates = updates

    def fields(
        self,
        caller: AccountCaller,
        sent: Mapping[str, str] | None = None,
        rejected: ProfileRejected | None = None,
    ) -> tuple[ProfileField, ...]:
        """Return the fields: what is stored, or what was sent with what is wrong with it."""
        violations = () if rejected is None else rejected.violations
        return OwnProfile(caller.entry).fields(caller.user.user, sent, violations)

    async def store(self, caller: AccountCaller, sent: Mapping[str, str]) -> None:
        """Store what was sent; raises ProfileRejected."""
        caller.require(AccountRole.MANAGE_ACCOUNT)
        event = caller.request.event
        event.begin(EventType.UPDATE_PROFILE)
        event.details[Detail.CONTEXT] = _CONTEXT
        try:
            change = await self._updates.store(OwnProfile(caller.entry), caller.user_id, sent)
        except ProfileRejected:
            event.withdraw()
            raise
        event.details |= change_details(change)
