"""The authorization code grant: tokens for a sign-in in a browser."""

from typing import Final

from gateway.client_policies import EventKind
from gateway.domain.events import EventType
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.code_redemption import CodeRedemption
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_tokens import GrantServices, SessionTokens
from gateway.protocol.tokens import TokenResponse

GRANT_TYPE: Final = "authorization_code"
_SHORTCUT: Final = "ac"


class AuthorizationCodeGrant:
    """Issues the tokens of a sign-in in a browser.

    Spec: RFC 6749 §4.1.3; Keycloak: 1.4 code grant
    """

    event = EventType.CODE_TO_TOKEN
    policy_event = None  # the scopes, or the token, have to be known first

    def __init__(self, services: GrantServices) -> None:
        self._redemption = CodeRedemption(
            services.authorization_codes,
            services.directory,
            services.validity,
            services.sessions,
            services.consents,
        )
        self._tokens = SessionTokens(services.sessions, services.database, services.encryption)

    async def __call__(
        self, request: ProtocolRequest, caller: AuthenticatedClient
    ) -> TokenResponse:
        client = caller.entry.client
        encrypter = await self._tokens.encrypter(client)
        redeemed = await self._redemption.redeem(request, client)
        return await self._tokens.issue_for(
            request,
            check_caller(
                request,
                caller,
                EventKind.TOKEN_REQUEST,
                scopes=redeemed.granted.names,
                code_verifier=redeemed.code_verifier,
            ),
            redeemed.user,
            redeemed.granted,
            redeemed.joined,
            grant=_SHORTCUT,
            encrypter=encrypter,
            nonce=redeemed.code.nonce,
        )
