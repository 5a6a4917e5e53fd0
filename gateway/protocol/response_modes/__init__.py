"""Response modes: how the parameters of an authorization response reach the client.

One file and one line each; the entry names the mode for requests and for discovery.
Spec: OAuth 2.0 Multiple Response Type Encoding Practices §2.1, OAuth 2.0 Form Post Response Mode,
JWT Secured Authorization Response Mode (JARM) §2.3
"""

from collections.abc import Callable, Mapping
from typing import Final

from gateway.domain.ports.client_encryption import ClientEncrypters
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.response_modes import form_post, fragment, query
from gateway.protocol.response_modes.parameters import signed, with_common_parameters
from gateway.protocol.response_modes.response import (
    AuthorizationResponse,
    Delivery,
    FormPost,
    Redirect,
    ResponseMode,
    ResponseTarget,
)
from gateway.protocol.tokens import encrypt_authorization_response

_Deliver = Callable[[str, Mapping[str, str]], Delivery]

RESPONSE_MODES: Final[Mapping[ResponseMode, tuple[_Deliver, bool]]] = {
    ResponseMode.QUERY: (query.deliver, False),
    ResponseMode.FRAGMENT: (fragment.deliver, False),
    ResponseMode.FORM_POST: (form_post.deliver, False),
    ResponseMode.QUERY_JWT: (query.deliver, True),
    ResponseMode.FRAGMENT_JWT: (fragment.deliver, True),
    ResponseMode.FORM_POST_JWT: (form_post.deliver, True),
}
"""Mode -> how it is carried, and whether the parameters are one JWT."""
JWT: Final = "jwt"
"""Stands for `query.jwt` or `fragment.jwt`, whichever is the default of the response type."""
RESPONSE_MODE_NAMES: Final = (*RESPONSE_MODES, JWT)
"""The names of all modes, as discovery lists them."""


async def deliver(
    request: ProtocolRequest, response: AuthorizationResponse, encryption: ClientEncrypters
) -> Delivery:
    """Return what the browser gets; `state` and `iss` are added.

    Raises OAuthError where the response has to be signed or encrypted, and realm or client has no
    key for it.
    """
    carry, is_signed = RESPONSE_MODES[response.target.mode]
    parameters = with_common_parameters(request.issuer, response)
    if is_signed:
        client = response.target.client
        token = signed(request, client, parameters)
        parameters = {"response": await encrypt_authorization_response(encryption, client, token)}
    return carry(response.target.redirect_uri, parameters)
