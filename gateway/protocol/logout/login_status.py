"""Whether the session that a client's page knows is still the one of the browser.

A page of the client asks a frame of the gateway, which asks here with the browser's cookie. Only
pages at an origin of the client get an answer.
Spec: OpenID Connect Session Management §3; Keycloak: 12.6
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from gateway.authentication.validity import is_usable_client
from gateway.domain.clients import Client
from gateway.domain.ports.directory import Directory
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sign_in_results.identity_cookie import session_hash
from gateway.representations.clients import origins_of

_ANY_ORIGIN: Final = "*"


class LoginStatus(Enum):
    """What the frame may tell the page."""

    REFUSED = auto()
    UNCHANGED = auto()
    CHANGED = auto()


async def login_status(
    request: ProtocolRequest,
    directory: Directory,
    own_origins: Iterable[str],
    cookies: Iterable[str],
) -> LoginStatus:
    """Compare the session of the request with `cookies`, values of KEYCLOAK_SESSION.

    A request without `session_state` asks only whether the page gets answers at all.
    Raises StoreUnavailable.
    """
    sent = request.parameters
    client_id, origin, state = map(sent.get, ("client_id", "origin", "session_state"))
    if client_id is None or origin is None:
        return LoginStatus.REFUSED
    entry = await directory.client(request.realm.realm.id, client_id)
    if entry is None or not is_usable_client(entry):
        return LoginStatus.REFUSED
    if origin not in own_origins and not _may_ask(entry.client, origin):
        return LoginStatus.REFUSED
    if state is None or session_hash(state) in cookies:
        return LoginStatus.UNCHANGED
    return LoginStatus.CHANGED


def _may_ask(client: Client, origin: str) -> bool:
    allowed = client.allowed_origins or ()
    if _ANY_ORIGIN in allowed or origin in allowed:
        return True
    root, patterns = client.redirects.root_url, client.redirects.patterns
    return origin in origins_of(
        f"{root}{pattern}" if pattern.startswith("/") else pattern for pattern in patterns
    )
