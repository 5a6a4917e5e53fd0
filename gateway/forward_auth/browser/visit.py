"""One request of a browser to the gateway's own URLs at a protected site."""

from dataclasses import dataclass

from gateway.domain.forward_auth import Site
from gateway.protocol.requests import ProtocolRequest


@dataclass(frozen=True, slots=True)
class SiteVisit:
    """`host` is the site's canonical host that the browser asked, by HTTPS.

    The request is one to the realm that signs browsers in.
    """

    site: Site
    host: str
    request: ProtocolRequest

    @property
    def origin(self) -> str:
        """The origin of the site's pages at this host."""
        return f"https://{self.host}"
