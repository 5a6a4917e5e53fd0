"""The frames by which a browser logs out at the clients of a session.

Spec: OpenID Connect Front-Channel Logout §2, §3
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.sessions import UserSession


@dataclass(frozen=True, slots=True)
class ClientFrame:
    """What a frame loads to log out at a client."""

    client: Client
    url: str = field(repr=False)


def logout_frames(
    session: UserSession, clients: Iterable[Client], issuer: str
) -> tuple[ClientFrame, ...]:
    """Return the frames of the clients that took part in the session and want one."""
    return tuple(
        ClientFrame(client, _frame_url(client, session, issuer))
        for client in clients
        if client.protocol == OPENID_CONNECT and client.enabled and client.logout.front_channel_url
    )


def _frame_url(client: Client, session: UserSession, issuer: str) -> str:
    url = client.logout.front_channel_url
    if not client.logout.front_channel_session_required:
        return url
    address, hash_sign, fragment = url.partition("#")
    separator = "&" if "?" in address else "?"
    named = urlencode({"iss": issuer, "sid": session.id})
    return f"{address}{separator}{named}{hash_sign}{fragment}"
