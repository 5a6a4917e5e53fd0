"""`conditional-credential`: certain kinds of credentials were used in this sign-in, or were not."""

from typing import ClassVar, Final

from gateway.authentication.engine.sign_in import Config, SignIn, WithoutEffect, is_set
from gateway.domain.flows import CREDENTIAL_USED, SignInFlow

_SEPARATOR: Final = "##"


class CredentialUsed(WithoutEffect):
    """Matches where any of `credentials` was used and `included` is set, or none was and it is not.

    The kinds are separated by `##`.
    """

    id: ClassVar = CREDENTIAL_USED

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether it does."""
        del flow
        kinds = config.get("credentials", "").split(_SEPARATOR)
        return (not sign_in.used.isdisjoint(kinds)) == is_set(config, "included")
