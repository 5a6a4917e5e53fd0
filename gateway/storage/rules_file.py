"""The rules file: sites that the operator protects, read again while the gateway runs.

A new version that is not valid is logged with all its errors, and the sites before it stay.
"""

import asyncio
from collections.abc import Callable, Collection
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol, TypeVar

import structlog

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.forward_auth import ReservedNames, Site
from gateway.representations.forward_auth import parse_rules_file

ContentT = TypeVar("ContentT", bytes, bytes | None)

POLL: Final = timedelta(milliseconds=500)
"""A change takes effect within a second."""


class ChangingFile(Protocol):
    """A file that is replaced while the gateway runs."""

    path: Path

    def read(self) -> bytes:
        """Return the content as it is now; raises OSError."""

    def read_if_changed(self) -> bytes | None:
        """Return the content if it is another than the last time; raises OSError."""


class RulesFile:
    """The sites of the last valid version; `source` names the file in errors."""

    def __init__(self, file: ChangingFile, source: str, public_urls: Collection[str] = ()) -> None:
        """Read nothing yet: without a `load` there are no sites.

        The hosts of `public_urls`, which are the gateway's, are reserved besides those of the file.
        """
        self._file = file
        self._source = source
        self._public_urls = public_urls
        self._failure: str | None = None
        self.sites: tuple[Site, ...] = ()
        self._reserved: ReservedNames | None = None

    def reserved_names(self) -> ReservedNames:
        """Return the names that no realm may have, read first where nothing was; as `load`."""
        if self._reserved is None:
            self.load()
        return self._reserved or ReservedNames.of((), self._public_urls)

    def load(self) -> None:
        """Read the file; raises InvalidInput with all its errors, also where it is missing."""
        self._use(parse_rules_file(self._read(self._file.read), self._source))

    async def watch(self) -> None:
        """Read new versions until cancelled."""
        while True:
            await asyncio.sleep(POLL.total_seconds())
            await self.refresh()

    async def refresh(self) -> None:
        """Read a new version if there is one."""
        # A file of megabytes takes seconds to parse: other requests go on meanwhile.
        await asyncio.to_thread(self._refresh)

    def _refresh(self) -> None:
        try:
            content = self._read(self._file.read_if_changed)
            if content is None:
                return
            self._use(parse_rules_file(content, self._source))
        except InvalidInput as refusal:
            self._report(refusal)
        else:
            self._failure = None
            structlog.get_logger().info("rules file read", sites=len(self.sites))

    def _use(self, sites: tuple[Site, ...]) -> None:
        self._reserved = ReservedNames.of(sites, self._public_urls)
        self.sites = sites

    def _report(self, refusal: InvalidInput) -> None:
        """Log the errors, of a file that stays missing once."""
        if str(refusal) != self._failure:
            errors = [str(error) for error in refusal.errors]
            structlog.get_logger().error("rules file refused", errors=errors)
        self._failure = str(refusal)

    def _read(self, read: Callable[[], ContentT]) -> ContentT:
        try:
            return read()
        except OSError as failure:
            sentence = f"the file cannot be read: {failure.strerror or failure}"
            error = FieldError(self._source, "nothing", "a readable file", sentence=sentence)
            raise InvalidInput((error,)) from failure
