"""UPDATE_PROFILE and VERIFY_PROFILE: the user completes the attributes of the user profile.

Fields named as the attributes, several values in lines. VERIFY_PROFILE is the same form, asked for
while the profile is not complete; clients cannot ask for it.
Keycloak: 16.1
"""

from collections.abc import Iterable, Sequence
from typing import Final

from gateway.authentication.engine.account_changes import (
    NO_CHANGES,
    AccountChange,
    AccountChanges,
)
from gateway.authentication.engine.required_action import Asked, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.profile_updates import (
    OwnProfile,
    ProfileRejected,
    ProfileUpdates,
)
from gateway.authentication.realm_profile import own_locked_names, profile_violations
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.events import Detail, EventType
from gateway.domain.flows import UPDATE_PROFILE, VERIFY_PROFILE
from gateway.domain.user_profile import Violation
from gateway.domain.user_profile.profile import EMAIL

_NOTE: Final = "profile-verified"
"""The note that the event VERIFY_PROFILE was recorded: a page that is loaded again adds none."""


class UpdateProfile:
    """Takes the attributes of the user, under one of the two aliases."""

    def __init__(self, alias: str, updates: ProfileUpdates) -> None:
        self.alias = alias
        self.may_be_requested = alias == UPDATE_PROFILE
        self._updates = updates

    async def ask(self, sign_in: SignIn) -> Challenge:
        violations: tuple[Violation, ...] = ()
        if self.alias == VERIFY_PROFILE:
            violations = await profile_violations(
                sign_in.context.realm, sign_in.user, sign_in.scopes
            )
            _record_verification(sign_in, violations)
        message = MessageKey.UPDATE_PROFILE if sign_in.is_required(self.alias) else None
        return self._form(sign_in, None, violations, message)

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed:
        try:
            change = await self._updates.store(
                _profile(sign_in), sign_in.user.id, form, performed=self.alias
            )
        except ProfileRejected as rejected:
            message = MessageKey.INVALID_PROFILE
            return Asked(self._form(sign_in, form, rejected.violations, message), NO_CHANGES)
        details = {Detail.CONTEXT: UPDATE_PROFILE, **change.details}
        return Performed(AccountChanges((AccountChange(EventType.UPDATE_PROFILE, details),)))

    def _form(
        self,
        sign_in: SignIn,
        sent: Form | None,
        violations: Sequence[Violation],
        message: MessageKey | None,
    ) -> Challenge:
        return Challenge(
            FormName.UPDATE_PROFILE,
            {"username": sign_in.user.username},
            message,
            is_error=message is MessageKey.INVALID_PROFILE,
            profile=_profile(sign_in).fields(sign_in.user, sent, violations),
            required_action=self.alias,
        )


def _profile(sign_in: SignIn) -> OwnProfile:
    realm = sign_in.context.realm
    unlocks_email = EMAIL not in own_locked_names(realm, sign_in.user)
    return OwnProfile(realm, sign_in.scopes, unlocks_email=unlocks_email)


def _record_verification(sign_in: SignIn, violations: Iterable[Violation]) -> None:
    if _NOTE in sign_in.notes:
        return
    sign_in.note(_NOTE, "true")
    names = dict.fromkeys(violation.field for violation in violations)
    details = {Detail.FIELDS_TO_UPDATE: ",".join(names)}
    sign_in.record(AccountChange(EventType.VERIFY_PROFILE, details))
