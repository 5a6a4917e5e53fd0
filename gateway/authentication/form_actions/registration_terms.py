"""`registration-terms-and-conditions`: the new user accepts the terms of the realm.

Field `termsAccepted`. The instant is kept as by the required action TERMS_AND_CONDITIONS, which the
user does not have to perform again. Keycloak: RegistrationTermsAndConditions (26.7)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from gateway.authentication.engine.form_action import FormRejected, NewAccount
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.required_actions.terms_and_conditions import with_accepted_terms
from gateway.domain.authentication import Challenge, MessageKey
from gateway.domain.flows import REGISTRATION_TERMS, TERMS_AND_CONDITIONS
from gateway.domain.user_profile import Violation

_ACCEPTED: Final = "termsAccepted"


class RegistrationTerms:
    """Asks whether the user accepts the terms."""

    id: ClassVar = REGISTRATION_TERMS

    def show(
        self, sign_in: SignIn, form: Challenge, sent: Form | None, violations: Sequence[Violation]
    ) -> Challenge:
        del sign_in, sent, violations
        return replace(form, asks_terms=True)

    async def apply(self, sign_in: SignIn, draft: NewAccount, sent: Form) -> NewAccount:
        if _ACCEPTED not in sent:
            raise FormRejected(MessageKey.TERMS_REQUIRED, field=_ACCEPTED)
        user = with_accepted_terms(draft.user, sign_in.now)
        return replace(draft, user=user, performed=draft.performed | {TERMS_AND_CONDITIONS})
