"""What a request to log out asks for, after its checks: nothing redirects before they passed.

Spec: OpenID Connect RP-Initiated Logout §2, §3; Keycloak: 12.6; attacks C2, C3, C23
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from gateway.client_policies import EventKind
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.directory import ClientEntry, Directory
from gateway.protocol.authorization import (
    PageError,
    PageMessage,
    invalid_request_page,
    policy_refusal_page,
)
from gateway.protocol.claims.protocol_claims import ID_TOKEN_TYPE
from gateway.protocol.errors import OAuthError
from gateway.protocol.parameters import Parameters
from gateway.protocol.policy_checks import check_client
from gateway.protocol.requests import ProtocolRequest

_HINT: Final = "id_token_hint"
_KEPT: Final = ("client_id", "post_logout_redirect_uri", "state")
_LONGEST_STATE: Final = 2_000
_NO_CLIENT: Final = (
    "Either the parameter 'client_id' or the parameter 'id_token_hint' is required when"
    " 'post_logout_redirect_uri' is used."
)
_OTHER_CLIENT: Final = (
    "Parameter client_id is different than the client for which ID Token was issued."
)


@dataclass(frozen=True, slots=True)
class LogoutRequest:
    """A request that passed the checks.

    `redirect_uri` is one of the client's, empty without one. `hint` are the claims of the ID token
    of `client` that came with it; None where that client does not exist.
    """

    client: Client | None = None
    redirect_uri: str = ""
    state: str = field(default="", repr=False)
    hint: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def target(self) -> str:
        """Where the browser goes afterwards; empty where it stays on a page."""
        if not self.redirect_uri or not self.state:
            return self.redirect_uri
        address, hash_sign, fragment = self.redirect_uri.partition("#")
        path, _, query = address.partition("?")
        pairs = [pair for pair in query.split("&") if pair and pair.partition("=")[0] != "state"]
        query = "&".join([*pairs, urlencode({"state": self.state})])
        return f"{path}?{query}{hash_sign}{fragment}"

    @property
    def hinted_session(self) -> str | None:
        """The session that the hint names."""
        session_id = (self.hint or {}).get("sid")
        return session_id if isinstance(session_id, str) else None

    def stored(self) -> dict[str, str]:
        """Return what `check_logout_request` reads again once the user has confirmed."""
        client_id = "" if self.client is None else self.client.client_id
        values = zip(_KEPT, (client_id, self.redirect_uri, self.state), strict=True)
        return {name: text for name, text in values if text}


async def check_logout_request(
    request: ProtocolRequest, parameters: Parameters, directory: Directory
) -> LogoutRequest:
    """Return what the parameters ask for; raises PageError and StoreUnavailable."""
    if parameters.repeated:
        raise invalid_request_page("duplicated parameter")
    token, client_id, redirect_uri, state = map(parameters.get, (_HINT, *_KEPT))
    if redirect_uri is not None and token is None and client_id is None:
        raise _refused(
            PageMessage.missingParameterMessage, _HINT, EventError.INVALID_REQUEST, _NO_CLIENT
        )
    hint = None if token is None else _verified(request, token)
    issued_for = None if hint is None else hint.get("azp")
    if client_id is not None and issued_for is not None and issued_for != client_id:
        request.event.client_id = client_id
        raise _refused(
            PageMessage.invalidParameterMessage, _HINT, EventError.INVALID_TOKEN, _OTHER_CLIENT
        )
    entry = await _find_client(request, directory, client_id or issued_for)
    client = None if entry is None else entry.client
    request.event.client_id = None if client is None else client.client_id
    if redirect_uri is not None and not _is_registered(request, client, redirect_uri):
        request.event.details[Detail.REDIRECT_URI] = redirect_uri
        message = PageMessage.invalidRedirectUriMessage
        raise PageError(message, event_error=EventError.INVALID_REDIRECT_URI, client=client)
    if entry is not None:
        _require_policies(request, entry, redirect_uri)
    return LogoutRequest(
        client=client,
        redirect_uri=redirect_uri or "",
        state=state if state is not None and len(state) <= _LONGEST_STATE else "",
        hint=hint if client is not None else None,
    )


def _verified(request: ProtocolRequest, token: str) -> Mapping[str, Any]:
    """Return the claims of an ID token of this realm, expired or not; raises PageError."""
    try:
        claims = request.realm.key_ring.verify(token, request.now)
    except InvalidToken as error:
        raise _wrong_hint(str(error)) from error
    if claims.get("iss") != request.issuer:
        raise _wrong_hint("Invalid token issuer")
    if claims.get("typ") != ID_TOKEN_TYPE or not isinstance(claims.get("azp"), str):
        raise _wrong_hint("Token type is incorrect")
    return claims


def _wrong_hint(reason: str) -> PageError:
    return _refused(PageMessage.invalidParameterMessage, _HINT, EventError.INVALID_TOKEN, reason)


def _refused(message: PageMessage, name: str, event_error: str, reason: str) -> PageError:
    return PageError(message, name, event_error=event_error, reason=reason)


async def _find_client(
    request: ProtocolRequest, directory: Directory, client_id: str | None
) -> ClientEntry | None:
    if client_id is None:
        return None
    return await directory.client(request.realm.realm.id, client_id)


def _require_policies(
    request: ProtocolRequest, entry: ClientEntry, redirect_uri: str | None
) -> None:
    try:
        check_client(request, entry, EventKind.LOGOUT_REQUEST, redirect_uri=redirect_uri)
    except OAuthError as refusal:
        raise policy_refusal_page(refusal) from refusal


def _is_registered(request: ProtocolRequest, client: Client | None, uri: str) -> bool:
    base = request.issuer.rpartition("/realms/")[0]
    return client is not None and client.redirects.match_after_logout(uri, base)
