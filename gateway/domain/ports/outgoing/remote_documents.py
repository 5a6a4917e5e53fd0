"""Documents of clients at URLs, such as request objects and key sets, and requests to clients.

A fetcher must keep callers from using the gateway to reach other servers: https alone, no private
addresses unless allowed, no redirects, limits of time and size. attacks C20, C21
"""

from datetime import timedelta
from typing import Protocol

from gateway.domain.errors import RealmgateError


class DocumentUnavailable(RealmgateError):
    """The document was not fetched; `str()` is the reason, for logs only."""


class RemoteDocuments(Protocol):
    """Fetches documents."""

    async def fetch(self, url: str, *, newest: timedelta | None = None) -> bytes:
        """Return the document at `url`, which may come from a cache.

        `newest` asks for one that was fetched within this time. Raises DocumentUnavailable.
        """


class NoRemoteDocuments:
    """Fetches nothing, where the gateway has no fetcher."""

    async def fetch(self, url: str, *, newest: timedelta | None = None) -> bytes:  # noqa: ARG002
        raise DocumentUnavailable("documents at URLs are not supported")


class NoticeNotReceived(RealmgateError):
    """The client did not confirm a notice; `str()` is the reason, for logs only."""


class NoticeSender(Protocol):
    """Sends logout tokens to clients."""

    async def send(self, url: str, logout_token: str) -> None:
        """Return once the client has accepted the token; raises NoticeNotReceived."""
