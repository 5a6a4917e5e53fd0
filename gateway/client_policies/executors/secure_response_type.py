"""secure-response-type: authorization responses are signed, by an ID token or as a JWT.

Spec: FAPI 1.0 Advanced §5.1.1, §5.2.2
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import AuthorizationRequested, ClientRequest
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_METADATA, INVALID_REQUEST, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client

_SIGNED: Final = frozenset({"code", "id_token"})
_WITH_TOKEN: Final = _SIGNED | {"token"}
_CODE: Final = frozenset({"code"})


@dataclass(frozen=True, slots=True)
class SecureResponseType(AutoConfigured):
    """Demands `code id_token`, or `code` with the response mode `jwt`.

    `allow_token` permits `code id_token token` too. The ID token is a detached signature, without
    claims of the user.
    """

    provider: ClassVar = "secure-response-type"
    allow_token: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(
            configuration.flag("auto-configure"), configuration.flag("allow-token-response-type")
        )

    def wanted(self) -> ClientSettings:
        return ClientSettings(attributes={"id.token.as.detached.signature": "true"})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if proposed.signing.id_token_as_detached_signature:
            return None
        text = "Invalid client metadata: ID Token as detached signature in disabled"
        return PolicyRefusal(INVALID_METADATA, text)

    def check_authorization(self, request: AuthorizationRequested) -> None:
        asked = request.response_type
        if asked == _SIGNED or (asked == _WITH_TOKEN and self.allow_token):
            return
        is_jwt = request.parameters.get("response_mode") == "jwt"
        if asked != _CODE or not is_jwt:
            raise PolicyRefusal(INVALID_REQUEST, "invalid response_type")

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        del request
        signing = replace(client.signing, id_token_as_detached_signature=True)
        return replace(client, signing=signing)
