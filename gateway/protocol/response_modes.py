"""Response modes: how an authorization response reaches the client, with their table.

Spec: RFC 6749 §3.1.2, §4.1.2, RFC 9207 §2, OAuth 2.0 Multiple Response Type Encoding Practices
§2.1, OAuth 2.0 Form Post Response Mode, §2, JWT Secured Authorization Response Mode (JARM) §2.1,
§2.3; Keycloak: 12.10 authorization
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import quote, urlencode

from gateway.domain.clients import Client
from gateway.domain.ports.client_keys import ClientEncrypters
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.tokens import encrypt_authorization_response, sign_for_client


class ResponseMode(StrEnum):
    """How the parameters reach the client, by their names in `response_mode`."""

    QUERY = "query"
    FRAGMENT = "fragment"
    FORM_POST = "form_post"
    QUERY_JWT = "query.jwt"
    FRAGMENT_JWT = "fragment.jwt"
    FORM_POST_JWT = "form_post.jwt"


@dataclass(frozen=True, slots=True)
class ResponseTarget:
    """The target of the response to a request. `redirect_uri` was verified to be the client's."""

    client: Client
    redirect_uri: str
    mode: ResponseMode
    state: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AuthorizationResponse:
    """The parameters of a response, without `state` and `iss`: those are added to each."""

    target: ResponseTarget
    parameters: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Redirect:
    """The browser gets 302 to `url`, which holds the parameters."""

    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FormPost:
    """The browser gets a page whose form posts `fields` to `url` by itself."""

    url: str
    fields: Mapping[str, str] = field(repr=False)


Delivery = Redirect | FormPost


_SESSION: Final = "session_state"
_ERROR: Final = ("error", "error_description")


def with_common_parameters(issuer: str, response: AuthorizationResponse) -> dict[str, str]:
    """Return all parameters in Keycloak's order, `iss` unless the client excludes it.

    state, session_state, iss, code and tokens; of an error: error, error_description, state, iss.
    Spec: RFC 9207 §2 (`iss`), JARM §2.1 (iss, aud, exp); Keycloak: 12.10 authorization
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


def signed_response(request: ProtocolRequest, client: Client, parameters: Mapping[str, str]) -> str:
    """Return the parameters as a JWT that lasts as long as a code; raises OAuthError."""
    claims = {
        **parameters,
        "iss": request.issuer,
        "aud": client.client_id,
        "exp": int((request.now + request.realm.realm.token_lifespans.access_code).timestamp()),
    }
    return sign_for_client(request, client.signing.authorization_response, claims)


def deliver_in_query(redirect_uri: str, parameters: Mapping[str, str]) -> Redirect:
    """Return the redirect; query and fragment of the redirect URI stay.

    An application that is routed by its hash returns to its place. Spec: RFC 6749 §3.1.2 (a query
    of the redirect URI is retained); Keycloak: 12.10 authorization
    """
    uri, hash_sign, fragment = redirect_uri.partition("#")
    address, _, query = uri.partition("?")
    added = _with_parameters(query, parameters)
    return Redirect(f"{address}?{added}{hash_sign}{fragment}")


def _with_parameters(text: str, parameters: Mapping[str, str]) -> str:
    """Return a query or fragment with the parameters behind what it has."""
    separator = "&" if text and not text.endswith("&") else ""
    return f"{text}{separator}{urlencode(parameters, quote_via=quote)}"


def deliver_in_fragment(redirect_uri: str, parameters: Mapping[str, str]) -> Redirect:
    """Return the redirect; a fragment of the redirect URI stays before the parameters.

    Spec: OAuth 2.0 Multiple Response Type Encoding Practices §2.1; Keycloak: 12.10 authorization
    """
    uri, _, fragment = redirect_uri.partition("#")
    return Redirect(f"{uri}#{_with_parameters(fragment, parameters)}")


def deliver_by_form_post(redirect_uri: str, parameters: Mapping[str, str]) -> FormPost:
    """Return the form; a fragment of the redirect URI stays, as in the query.

    Spec: OAuth 2.0 Form Post Response Mode §2
    """
    return FormPost(redirect_uri, parameters)


_Deliver = Callable[[str, Mapping[str, str]], Delivery]

RESPONSE_MODES: Final[Mapping[ResponseMode, tuple[_Deliver, bool]]] = {
    ResponseMode.QUERY: (deliver_in_query, False),
    ResponseMode.FRAGMENT: (deliver_in_fragment, False),
    ResponseMode.FORM_POST: (deliver_by_form_post, False),
    ResponseMode.QUERY_JWT: (deliver_in_query, True),
    ResponseMode.FRAGMENT_JWT: (deliver_in_fragment, True),
    ResponseMode.FORM_POST_JWT: (deliver_by_form_post, True),
}
"""Mode -> how it is carried, and whether the parameters are one JWT."""
JWT: Final = "jwt"
"""Stands for `query.jwt` or `fragment.jwt`, whichever is the default of the response type."""
RESPONSE_MODE_NAMES: Final = (*RESPONSE_MODES, JWT)
"""The names of all modes, as discovery lists them."""


async def deliver_response(
    request: ProtocolRequest, response: AuthorizationResponse, encryption: ClientEncrypters
) -> Delivery:
    """Return what the browser gets, with `state` and `iss`; raises OAuthError without a key."""
    carry, is_signed = RESPONSE_MODES[response.target.mode]
    parameters = with_common_parameters(request.issuer, response)
    if is_signed:
        client = response.target.client
        token = signed_response(request, client, parameters)
        parameters = {"response": await encrypt_authorization_response(encryption, client, token)}
    return carry(response.target.redirect_uri, parameters)
