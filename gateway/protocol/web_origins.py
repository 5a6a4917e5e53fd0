"""Pages of other origins that call the gateway: which may use a client and read the response.

Keycloak: 12.7
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from gateway.domain.errors import RealmgateError

_ANY_ORIGIN: Final = "*"


class OriginRefused(RealmgateError):
    """The page is of an origin that the client does not list."""


@dataclass(slots=True, eq=False)
class Page:
    """The page from which a browser sends the request; without an `origin` there is none.

    `is_own`: it is at an address of the gateway itself. `may_read`: the browser may pass the
    response to the page.
    """

    origin: str | None = None
    is_own: bool = False
    may_read: bool = False

    def require(self, allowed: Collection[str] | None) -> None:
        """Let a page of the web origins `allowed` read the response.

        Raises OriginRefused for any other page, unless it is our own.
        """
        if self.origin is None:
            return
        self.may_read = allowed is not None and (_ANY_ORIGIN in allowed or self.origin in allowed)
        if not self.may_read and not self.is_own:
            raise OriginRefused(f"the origin {self.origin[:200]!r} is not a web origin")

    def withhold(self) -> None:
        """Let no page read the response."""
        if self.origin is not None:
            self.may_read = False


NO_PAGE: Final = Page()
"""The caller is no browser, or the endpoint is not for pages of other origins."""
