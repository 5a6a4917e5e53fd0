"""What every authorization response contains, and the JWT of the signed modes.

Spec: RFC 9207 §2 (`iss`), JARM §2.1 (iss, aud, exp); Keycloak: 12.10
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.clients import Client
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.response_modes.response import AuthorizationResponse
from gateway.protocol.tokens import sign_authorization_response

_SESSION: Final = "session_state"
_ERROR: Final = ("error", "error_description")


def with_common_parameters(issuer: str, response: AuthorizationResponse) -> dict[str, str]:
    """Return all parameters in Keycloak's order.

    state, session_state, iss, code and tokens; of an error: error, error_description, state, iss.
    `iss` is left out for a client with `exclude.issuer.from.auth.response`.
    """
    target, given = response.target, dict(response.parameters)
    if target.client.authorization.exclude_session_state:
        given.pop(_SESSION, None)
    ordered: dict[str, str] = {name: given.pop(name) for name in _ERROR if name in given}
    if target.state is not None:
        ordered["state"] = target.state
    if _SESSION in given:
        ordered[_SESSION] = given.pop(_SESSION)
    if not target.client.authorization.exclude_issuer:
        ordered["iss"] = issuer
    return {**ordered, **given}


def signed(request: ProtocolRequest, client: Client, parameters: Mapping[str, str]) -> str:
    """Return the parameters as a JWT for the client; raises OAuthError without a key.

    It lasts as long as a code.
    """
    expires_at = request.now + request.realm.realm.token_lifespans.access_code
    claims = {
        **parameters,
        "iss": request.issuer,
        "aud": client.client_id,
        "exp": int(expires_at.timestamp()),
    }
    return sign_authorization_response(request, client, claims)
