"""TERMS_AND_CONDITIONS: the user accepts the terms of the realm, text `termsText`, or declines.

The instant of the acceptance is kept in the user attribute `terms_and_conditions`, in seconds since
1970. Keycloak: TermsAndConditions (26.7), 16.1
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.engine.account_changes import AccountChange, AccountChanges
from gateway.authentication.engine.required_action import Asked, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.errors import ActionDeclined
from gateway.domain.authentication import Challenge, FormName
from gateway.domain.events import EventType
from gateway.domain.flows import TERMS_AND_CONDITIONS
from gateway.domain.user_profile.profile import ACCEPTED_TERMS
from gateway.domain.users import User

_DECLINED: Final = "termsAndConditionsDeclined"
"""What Keycloak reports to the client."""


class TermsAndConditions:
    """Takes the answer to the terms."""

    alias = TERMS_AND_CONDITIONS
    may_be_requested = False

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def ask(self, sign_in: SignIn) -> Challenge:
        return Challenge(
            FormName.TERMS,
            {"username": sign_in.user.username},
            required_action=TERMS_AND_CONDITIONS,
        )

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed:
        if "accept" not in form or "cancel" in form:
            raise ActionDeclined(sign_in.user.id, TERMS_AND_CONDITIONS, _DECLINED)
        async with self._updates.begin(sign_in.realm.id, sign_in.user.id) as update:
            accepted = with_accepted_terms(update.user, sign_in.now)
            await update.replace(accepted, performed=TERMS_AND_CONDITIONS)
        return Performed(AccountChanges((AccountChange(EventType.CUSTOM_REQUIRED_ACTION),)))


def with_accepted_terms(user: User, now: datetime) -> User:
    """Return the user, who has accepted the terms at this instant."""
    accepted_at = str(int(now.timestamp()))
    return replace(user, attributes={**user.attributes, ACCEPTED_TERMS: (accepted_at,)})
