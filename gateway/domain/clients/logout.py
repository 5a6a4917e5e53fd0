"""How a client learns that a session has ended. Keycloak: client attributes (26.7).

Spec: OpenID Connect Back-Channel Logout §2.2, Front-Channel Logout §2
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogoutSettings:
    """By a request to the client, by a frame in the user's browser, or not at all."""

    root_url: str = ""
    """`rootUrl`: what a URL that begins with `/` belongs to."""
    back_channel_path: str = ""
    """`backchannel.logout.url`: where logout tokens are sent to."""
    back_channel_session_required: bool = False
    """`backchannel.logout.session.required`: logout tokens name the session."""
    revoke_offline_tokens: bool = False
    """`backchannel.logout.revoke.offline.tokens`: logout tokens ask for that too."""
    uses_front_channel: bool = False
    """`frontchannelLogout`"""
    front_channel_path: str = ""
    """`frontchannel.logout.url`: what a frame of the logout page loads."""
    front_channel_session_required: bool = True
    """`frontchannel.logout.session.required`: the frame's URL names issuer and session."""
    stops_at_page: bool = False
    """`logout.confirmation.enabled`: a page says that the user is logged out, and links on."""

    @property
    def back_channel_url(self) -> str:
        """Where logout tokens are sent to; empty: nowhere."""
        return self._absolute(self.back_channel_path)

    @property
    def front_channel_url(self) -> str:
        """What a frame loads; empty: the client has none."""
        return self._absolute(self.front_channel_path) if self.uses_front_channel else ""

    def _absolute(self, url: str) -> str:
        return f"{self.root_url.removesuffix('/')}{url}" if url.startswith("/") else url
