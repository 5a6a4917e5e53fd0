"""The rules file: sites that the operator protects, read again while the gateway runs.

A new version that is not valid is logged with all its errors, and the sites before it stay.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol, TypeVar

import structlog

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.forward_auth import Site
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

    def __init__(self, file: ChangingFile, source: str) -> None:
        """Read the file; raises InvalidInput with all its errors, also where it is missing."""
        self._file = file
        self._source = source
        self._failure: str | None = None
        self.sites = parse_rules_file(self._read(file.read), source)

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
        log = structlog.get_logger()
        try:
            content = self._read(self._file.read_if_changed)
            if content is None:
                return
            self.sites = parse_rules_file(content, self._source)
        except InvalidInput as refusal:
            # A missing file is looked for each time, and reported once.
            if str(refusal) != self._failure:
                log.error("rules file refused", errors=[str(error) for error in refusal.errors])
            self._failure = str(refusal)
        else:
            self._failure = None
            log.info("rules file read", sites=len(self.sites))

    def _read(self, read: Callable[[], ContentT]) -> ContentT:
        try:
            return read()
        except OSError as failure:
            sentence = f"the file cannot be read: {failure.strerror or failure}"
            error = FieldError(self._source, "nothing", "a readable file", sentence=sentence)
            raise InvalidInput((error,)) from failure
