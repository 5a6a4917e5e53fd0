"""`registration-user-creation`: the attributes of the user profile.

Keycloak: RegistrationUserCreation (26.7)
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from gateway.authentication.engine.form_action import NewAccount, profile_rejected
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.profile_updates import OwnProfile, ProfileRejected
from gateway.domain.authentication import Challenge
from gateway.domain.flows import USER_CREATION
from gateway.domain.limits.patterns import PatternMatches, repeat_while_pending
from gateway.domain.user_profile import Violation
from gateway.domain.users import User


class UserCreation:
    """Asks for the attributes that users may set, and checks them."""

    id: ClassVar = USER_CREATION

    def show(
        self, sign_in: SignIn, form: Challenge, sent: Form | None, violations: Sequence[Violation]
    ) -> Challenge:
        return replace(form, profile=_profile(sign_in).fields(None, sent, violations))

    async def apply(self, sign_in: SignIn, draft: NewAccount, sent: Form) -> NewAccount:
        attempt = partial(_changed, _profile(sign_in), draft.user, sent)
        try:
            return replace(draft, user=await repeat_while_pending(attempt))
        except ProfileRejected as rejected:
            raise profile_rejected(rejected.violations) from rejected


async def _changed(profile: OwnProfile, user: User, sent: Form, matches: PatternMatches) -> User:
    return profile.changed(user, sent, matches)


def _profile(sign_in: SignIn) -> OwnProfile:
    return OwnProfile(sign_in.context.realm, sign_in.scopes, is_new=True)
