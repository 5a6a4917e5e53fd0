"""The trusted authorities of a PEM file, a realm or a client, and files that change at run time.

As with nginx, a path must end at a self-signed certificate of the file. An authority of the same
name with another key is another authority. Spec: RFC 5280 §6.1; attacks A8, A14

A file may be replaced by rename, in place or behind a symbolic link (Kubernetes: `..data`): the
file that the path resolves to now is compared. The time of the last change of the inode cannot be
set, so a time set back hides nothing. A file written a moment ago is compared by content, since
times have the granularity of the kernel's clock. The gateway must be given the folder of the file:
a bind mount of one file keeps showing the old one after a rename.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Final

from gateway.crypto.der import CERTIFICATE_LABELS, pem_blocks
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.crypto.x509.path_search import is_issued_by
from gateway.domain.certificates import AnchorOrigin
from gateway.domain.distinguished_names import DistinguishedName
from gateway.domain.limits.caches import SingleFlight
from gateway.domain.ports.certificates import MalformedCertificate

LONGEST_WAIT: Final = timedelta(seconds=1)
"""Of a request for a changed file; a larger file takes effect once it is read."""
_SETTLED: Final = 2_000_000_000
"""Nanoseconds after a change; file systems count in steps of up to two seconds."""
_State = tuple[int, int, int, int, int]
"""Device, inode, size, times of the last write and of the last change, in nanoseconds."""
_state_of: Final[Callable[[os.stat_result], _State]] = attrgetter(
    "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"
)


class WatchedFile:
    """A file with the digest of its last content."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Twice as fast as by a Path, for each use of a certificate.
        self._stat = partial(os.stat, os.fspath(path))
        self._state: _State | None = None
        self._digest = b""

    def read_content(self) -> bytes:
        """Return the content as it is now; raises OSError."""
        state = _state_of(self._stat())
        content = self.path.read_bytes()
        self._digest = hashlib.sha256(content).digest()
        # The state from before: a change while it was read is seen the next time.
        self._state = state if _is_settled(state) else None
        return content

    def may_have_changed(self) -> bool:
        """Return whether `read_if_changed` may find another content: one system call."""
        try:
            return self._state is None or _state_of(self._stat()) != self._state
        except OSError:
            return True

    def read_if_changed(self) -> bytes | None:
        """Return the content if it has changed since the last time; raises OSError."""
        try:
            if self._state is not None and _state_of(self._stat()) == self._state:
                return None
            before = self._digest
            content = self.read_content()
        except OSError:
            # What comes back is reported, even if it is the same as before.
            self._state, self._digest = None, b""
            raise
        return None if self._digest == before else content


def _is_settled(state: _State) -> bool:
    """Return whether all times of the file are past: else a later change might not show."""
    now = time.time_ns()
    return all(abs(now - changed) > _SETTLED for changed in state[3:])


_editions: Final = count(1)
"""No two sets of authorities have the same edition, so a verdict is never taken for another's."""


class AuthorityBundle:
    """The authorities of the settings. `edition` changes when these change."""

    def __init__(self, authorities: Iterable[ParsedCertificate] = ()) -> None:
        self.edition = next(_editions)
        self._by_subject: dict[DistinguishedName, list[ParsedCertificate]] = {}
        for authority in authorities:
            self._by_subject.setdefault(authority.subject, []).append(authority)
        self._anchors: dict[bytes, bool] = {}
        """Whether a self-issued authority has signed itself, by digest; found when it is asked."""
        self.anchor_keys = frozenset(item.key_digest for item in self if item.is_self_issued)
        """Digests of the keys that anchors may have."""

    async def renew(self) -> None:
        """Read the authorities again where they come from a file that was replaced."""

    def __iter__(self) -> Iterator[ParsedCertificate]:
        return (item for authorities in self._by_subject.values() for item in authorities)

    def named(self, name: DistinguishedName) -> Sequence[ParsedCertificate]:
        """Return the authorities with that subject."""
        return self._by_subject.get(name, ())

    @property
    def has_several_anchors(self) -> bool:
        """Whether anchors of different keys are trusted."""
        return len(self.anchor_keys) > 1

    def anchor_origin(self, certificate: ParsedCertificate) -> AnchorOrigin | None:
        """Return SETTINGS for a self-signed certificate of the bundle."""
        if not certificate.is_self_issued:
            return None
        digest = certificate.digest
        if all(digest != item.digest for item in self.named(certificate.subject)):
            return None
        if digest not in self._anchors:
            self._anchors[digest] = is_issued_by(certificate, certificate)
        return AnchorOrigin.SETTINGS if self._anchors[digest] else None


class AuthorityFile(AuthorityBundle):
    """The authorities of a PEM file, kept when a new one is unusable. Belongs to one event loop."""

    def __init__(self, file: Path) -> None:
        """Read the file; raises OSError, ValueError or MalformedCertificate."""
        self._file = WatchedFile(file)
        self._problem: str | None = None
        self._reading: SingleFlight[str, None] = SingleFlight()
        super().__init__(parse_authorities(self._file.read_content()))

    async def renew(self) -> None:
        if self._file.may_have_changed():
            task = self._reading.start("", self._read_again)
            await asyncio.wait((task,), timeout=LONGEST_WAIT.total_seconds())

    async def _read_again(self) -> None:
        try:
            authorities = await asyncio.to_thread(_read_authorities, self._file)
            if authorities is not None:
                super().__init__(authorities)
                self._problem = None
        except (OSError, ValueError, MalformedCertificate) as error:
            self._report(f"{self._file.path} cannot be read: {error}")

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            import structlog  # noqa: PLC0415 - 40 ms of a command, which seldom logs

            structlog.get_logger().error("client authorities not renewed", reason=problem)


class RegisteredBundle:
    """Registered authorities, and those of the settings where `gateway` is given."""

    def __init__(
        self,
        authorities: Iterable[ParsedCertificate],
        anchors: frozenset[bytes],
        origin: AnchorOrigin,
        gateway: AuthorityBundle | None,
    ) -> None:
        self._edition = next(_editions)
        self._by_subject: dict[DistinguishedName, list[ParsedCertificate]] = {}
        keys: set[bytes] = set()
        for authority in authorities:
            self._by_subject.setdefault(authority.subject, []).append(authority)
            if authority.digest in anchors:
                keys.add(authority.key_digest)
        self._anchor_keys = frozenset(keys)
        self._anchors = anchors
        self._origin = origin
        self._gateway = gateway

    def __iter__(self) -> Iterator[ParsedCertificate]:
        for authorities in self._by_subject.values():
            yield from authorities
        yield from self._gateway or ()

    @property
    def edition(self) -> tuple[int, int]:
        return self._edition, 0 if self._gateway is None else self._gateway.edition

    def named(self, name: DistinguishedName) -> Sequence[ParsedCertificate]:
        """Return the authorities with that subject, registered ones first."""
        registered = self._by_subject.get(name, ())
        return registered if self._gateway is None else (*registered, *self._gateway.named(name))

    @property
    def has_several_anchors(self) -> bool:
        """Whether anchors of different keys are trusted."""
        of_gateway = frozenset[bytes]() if self._gateway is None else self._gateway.anchor_keys
        return len(self._anchor_keys | of_gateway) > 1

    def anchor_origin(self, certificate: ParsedCertificate) -> AnchorOrigin | None:
        """Return who trusts it as an anchor; None where it is none."""
        if certificate.digest in self._anchors:
            return self._origin
        return None if self._gateway is None else self._gateway.anchor_origin(certificate)


def parse_authorities(data: bytes) -> tuple[ParsedCertificate, ...]:
    """Parse a PEM bundle; raises ValueError or MalformedCertificate."""
    certificates = pem_blocks(data, *CERTIFICATE_LABELS)
    if not certificates:
        raise ValueError("no PEM certificate")
    return tuple(map(parse_certificate, certificates))


def _read_authorities(file: WatchedFile) -> tuple[ParsedCertificate, ...] | None:
    """Return the authorities of a changed file; in a thread, since a thousand take long."""
    content = file.read_if_changed()
    return None if content is None else parse_authorities(content)
