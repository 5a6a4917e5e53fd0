"""The interface of a certificate lookup, and the rules that all of them keep.

A lookup only reads headers: it decides nothing about the certificate. Limits, the proxy's verdict
and `trust-proxy-verification` are the same for every dialect, so they are here.
Keycloak: 11.1; docs/certificates-behind-proxies.md
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from gateway.domain.certificates import ProxyVerdict
from gateway.domain.ports.certificates import MalformedCertificate

LONGEST_HEADERS: Final = 64 * 1024
"""Bytes of all headers of a lookup together, certificate and chain."""
LONGEST_CHAIN: Final = 10
"""The largest `certificate-chain-length`, and the limit where a lookup has no such option."""
VERDICT_HEADER: Final = "ssl-client-verify"
"""Keycloak's name for the header of the verdict, where the dialect has one."""
_SUCCESS, _FAILED = b"SUCCESS", b"FAILED:"

_CHAIN_LENGTH: Final = "certificate-chain-length"

LeafAndChain = tuple[bytes | None, list[bytes]]
"""The DER of the leaf, None where none was sent, and of the other certificates."""
Verdict = tuple[ProxyVerdict, str | None]
"""The proxy's verdict, and its reason where it is not VERIFIED."""


@dataclass(frozen=True, slots=True)
class ForwardedCertificate:
    """What the proxy's headers say about the client certificate; certificates are DER.

    `chain` holds the other certificates that were sent. `reason` explains a verdict other than
    VERIFIED.
    """

    leaf: bytes = field(repr=False)
    verdict: ProxyVerdict
    reason: str | None = None
    chain: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class LookupOptions:
    """The options of a lookup; None is the default of its dialect.

    Headers are named in lower case. `chain_prefix`: a chain in `<prefix>_0`, `<prefix>_1` and so
    on. `chain_length` limits the certificates besides the leaf.
    """

    header: str | None = None
    chain_header: str | None = None
    chain_prefix: str | None = None
    chain_length: int = 1
    verdict_header: str | None = None
    url_encoded: bool | None = None
    trust_proxy_verification: bool = False


class CertificateLookup(ABC):
    """How one kind of proxy reports the client certificate, in headers that it alone may set."""

    name: ClassVar[str]
    """Keycloak's id of the provider."""
    default_header: ClassVar[str]
    """The header of the certificate where none is configured, in lower case."""
    default_chain_header: ClassVar[str | None] = None
    default_verdict_header: ClassVar[str | None] = None
    """The header of the verdict; None: the dialect has none, so the verdict is not known."""
    default_url_encoded: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]]
    """Keycloak's options of the lookup (`--spi-x509cert-lookup-<lookup>-<option>`), each with the
    field of the settings that holds its value."""
    own_options: ClassVar[frozenset[str]] = frozenset({"certificate_verdict_header"})
    """Fields of the settings that Keycloak has no option for."""

    def __init__(self, options: LookupOptions | None = None) -> None:
        given = options or LookupOptions()
        self.header: Final = _name(given.header or self.default_header)
        self._chain_header = _name(given.chain_header or self.default_chain_header)
        self._indexed = tuple(
            _name(f"{given.chain_prefix}_{index}")
            for index in range(LONGEST_CHAIN if given.chain_prefix else 0)
        )
        limited = _CHAIN_LENGTH in self.options
        self._longest_chain = given.chain_length if limited else LONGEST_CHAIN
        self._verdict_header = _name(given.verdict_header or self.default_verdict_header)
        self._url_encoded = (
            self.default_url_encoded if given.url_encoded is None else given.url_encoded
        )
        self._trust_proxy_verification = given.trust_proxy_verification
        named = {self.header, self._chain_header, self._verdict_header, *self._indexed}
        self.headers: Final = frozenset(named - {b""})
        """Every header that the lookup reads, in lower case."""

    @classmethod
    def default_headers(cls) -> frozenset[bytes]:
        """Return the headers of the dialect, whatever the options are, in lower case."""
        names = (cls.default_header, cls.default_chain_header, cls.default_verdict_header)
        return frozenset(map(_name, filter(None, names)))

    def find(self, headers: Mapping[bytes, bytes]) -> ForwardedCertificate | None:
        """Return what the headers report, None where the client sent no certificate.

        `headers` are by lower-case name. Raises MalformedCertificate for anything else.
        """
        size = sum(len(headers[name]) for name in self.headers if name in headers)
        if size > LONGEST_HEADERS:
            raise MalformedCertificate(f"header of {size} bytes, {LONGEST_HEADERS} are allowed")
        leaf, others = self._read(headers)
        if leaf is None:
            if others:
                raise MalformedCertificate("chain without a certificate")
            return None
        chain = tuple(der for der in others if der != leaf)
        if len(chain) > self._longest_chain:
            raise MalformedCertificate(
                f"chain of {len(chain)} certificates, {self._longest_chain} are allowed"
            )
        verdict, reason = self._judged(headers)
        if self._trust_proxy_verification and verdict is not ProxyVerdict.VERIFIED:
            return None
        return ForwardedCertificate(leaf, verdict, reason, chain)

    @abstractmethod
    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        """Decode the certificates of the headers."""

    def _indexed_values(self, headers: Mapping[bytes, bytes]) -> list[bytes]:
        """Return the values of the headers `<prefix>_0` and so on, as far as they were sent."""
        return [headers[name] for name in self._indexed if name in headers]

    def _verdict(self, value: bytes) -> Verdict:
        """Return what the header of the verdict says, in nginx's words."""
        return verdict_in_words(value)

    def _judged(self, headers: Mapping[bytes, bytes]) -> Verdict:
        """Return the verdict; without a header for it, the operator's word or none."""
        if self._verdict_header:
            return self._verdict(headers.get(self._verdict_header, b""))
        if self._trust_proxy_verification:
            return ProxyVerdict.VERIFIED, None
        return ProxyVerdict.NONE, f"the dialect {self.name} has no header for it"


def verdict_in_words(value: bytes) -> Verdict:
    """Return the verdict of `SUCCESS` or `FAILED:reason`; any other value is no verdict."""
    if value == _SUCCESS:
        return ProxyVerdict.VERIFIED, None
    if value.startswith(_FAILED):
        return ProxyVerdict.FAILED, value.removeprefix(_FAILED).decode("latin-1")
    return ProxyVerdict.NONE, None


def _name(text: str | None) -> bytes:
    return (text or "").lower().encode("ascii")
