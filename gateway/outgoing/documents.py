"""Documents of clients at URLs, cached by URL with bounds of size and age.

A failure is cached too, for a short time: a caller cannot make the gateway send a request each time
it asks for one.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

from gateway.domain.clock import Clock
from gateway.domain.limits.caches import SizedCache
from gateway.domain.limits.single_flight import SingleFlight
from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable
from gateway.outgoing.http_client import GuardedHttpClient

_LONGEST: Final = timedelta(minutes=10)
_OF_FAILURES: Final = timedelta(seconds=10)
_MOST_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A document, or else why there is none."""

    at: datetime
    content: bytes | None = field(repr=False)
    failure: str = ""


class CachedDocuments:
    """The RemoteDocuments of the product."""

    def __init__(self, client: GuardedHttpClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: SizedCache[str, _Fetched] = SizedCache(_MOST_BYTES)
        self._flights: SingleFlight[str, _Fetched] = SingleFlight()

    async def fetch(self, url: str, *, newest: timedelta | None = None) -> bytes:
        found = self._known.get(url)
        if found is None or self._clock.now() - found.at >= _age_limit(found, newest):
            found = await self._flights.run(url, lambda: self._fetched(url))
        if found.content is None:
            raise DocumentUnavailable(found.failure)
        return found.content

    async def _fetched(self, url: str) -> _Fetched:
        now = self._clock.now()
        try:
            response = await self._client.get(url)
        except DocumentUnavailable as error:
            found = _Fetched(now, None, str(error))
        else:
            if response.status == HTTPStatus.OK:
                found = _Fetched(now, response.body)
            else:
                found = _Fetched(now, None, f"the server answered with {response.status}")
        self._known.put(url, found)
        return found


def _age_limit(found: _Fetched, newest: timedelta | None) -> timedelta:
    if found.content is None:
        return _OF_FAILURES
    return _LONGEST if newest is None else newest
