"""`conditional-client-scope`: the request asks for a client scope."""

from typing import ClassVar

from gateway.authentication.engine.sign_in import Config, SignIn, WithoutEffect, is_set
from gateway.domain.flows import CLIENT_SCOPE, SignInFlow


class RequestedClientScope(WithoutEffect):
    """Matches requests with the client scope `client_scope`; `negate` inverts the result."""

    id: ClassVar = CLIENT_SCOPE

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether the scope is one of the defaults or was requested."""
        del flow
        name = config.get("client_scope")
        return bool(name) and (name in sign_in.scopes) != is_set(config, "negate")
