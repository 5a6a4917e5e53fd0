"""How one kind of proxy asks: where it puts the caller's request, and what it does with answers."""

from abc import ABC, abstractmethod
from typing import ClassVar

from starlette.types import Scope

from gateway.domain.forward_auth import OriginalRequest
from gateway.http.forward_auth.original_headers import OriginalHeaders


class Dialect(ABC):
    """One kind of proxy; `name` is the last segment of its URL."""

    name: ClassVar[str]
    returns_refusals: ClassVar[bool] = False
    """The caller gets our refusals as they are, so browsers are redirected or shown a page."""
    takes_paths: ClassVar[bool] = False
    """The caller's path follows the URL."""

    @staticmethod
    @abstractmethod
    def original(scope: Scope, headers: OriginalHeaders, scheme: str, path: str) -> OriginalRequest:
        """Return the caller's request with the server of the proxy that received it.

        Raises AmbiguousTarget where the proxy does not send one of both.

        `path` is what follows the URL, as sent.
        """
