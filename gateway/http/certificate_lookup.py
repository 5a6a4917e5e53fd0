"""How each proxy reports the client certificate in headers, and the rules that all lookups keep.

A lookup only reads headers: it decides nothing about the certificate. Limits, the proxy's verdict
and `trust-proxy-verification` are the same for every dialect. Decoding is strict: it raises
MalformedCertificate with the reason, never quotes the value, and takes a time that is linear in its
size.
Keycloak: 11.1 certificate lookup, `--spi-x509cert-lookup-provider=<id>`;
docs/certificates-behind-proxies.md; Spec: RFC 7468 §5; RFC 3986 §2.1; X.690 §8.1
"""

import binascii
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final
from urllib.parse import unquote_to_bytes

from gateway.domain.certificates import ProxyVerdict
from gateway.domain.distinguished_names import read_element
from gateway.domain.ports.certificates import MalformedCertificate

BEGIN, END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
LINE_ENDS: Final = b"\r\n"
FOLDED: Final = b" \t\r\n"
"""What a proxy writes for the line ends of PEM: spaces (Apache), tabs (`$ssl_client_cert`)."""
_QUOTE: Final = b'"'
_WRONG_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def without_quotes(value: bytes) -> bytes:
    """Return the value without one pair of surrounding double quotes."""
    if len(value) > 1 and value.startswith(_QUOTE) and value.endswith(_QUOTE):
        return value[1:-1]
    return value


def from_url_encoding(value: bytes) -> bytes:
    """Decode percent escapes; a `+` is a plus sign, never a space."""
    # unquote_to_bytes leaves a wrong escape as it is, and is slow when there are many.
    if _WRONG_ESCAPE.search(value):
        raise MalformedCertificate("header has a percent sign without two hexadecimal digits")
    return unquote_to_bytes(value)


def from_pem(text: bytes, *, line_ends: bytes = LINE_ENDS, form: str = "PEM") -> bytes:
    """Return the DER of exactly one armored certificate; `line_ends` may be in its base64."""
    text = text.rstrip(line_ends)
    if not text.startswith(BEGIN) or not text.endswith(END):
        raise MalformedCertificate(f"header is not one {form} certificate")
    return from_base64(text[len(BEGIN) : -len(END)].translate(None, line_ends), "PEM")


def from_pem_or_base64(value: bytes) -> bytes:
    """Return the DER of one certificate in PEM, its line ends folded, or in bare base64."""
    if BEGIN in value or END in value:
        return from_pem(value, line_ends=FOLDED)
    return from_base64(value, "header")


def from_pem_blocks(text: bytes) -> list[bytes]:
    """Return the DER of armored certificates one after the other, at least one."""
    *blocks, rest = text.split(END)
    if rest.strip(LINE_ENDS) or not blocks:
        raise MalformedCertificate("header is not a list of PEM certificates")
    return [from_pem(block.lstrip(LINE_ENDS) + END) for block in blocks]


def from_base64(encoded: bytes, what: str) -> bytes:
    """Decode clean base64: the standard alphabet, padded, nothing else."""
    try:
        der = binascii.a2b_base64(encoded, strict_mode=True)
    except binascii.Error as error:
        raise MalformedCertificate(f"{what} is not clean base64: {error}") from error
    if not der:
        raise MalformedCertificate(f"{what} is empty")
    # The strict mode accepts padding after a whole group, and bits that nothing is decoded from.
    if binascii.b2a_base64(der, newline=False) != encoded:
        raise MalformedCertificate(f"{what} is not clean base64: it has another encoding")
    return der


def split_der(encoded: bytes) -> list[bytes]:
    """Split DER values that follow one another."""
    found: list[bytes] = []
    start = 0
    while start < len(encoded):
        try:
            end = read_element(encoded, start).end
        except ValueError as error:
            raise MalformedCertificate(f"chain is not DER: {error}") from error
        found.append(encoded[start:end])
        start = end
    return found


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
    """The proxy's report: DER of leaf and chain, and the reason unless VERIFIED."""

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

    def find_certificate(self, headers: Mapping[bytes, bytes]) -> ForwardedCertificate | None:
        """Return the report of headers, by lower-case name; raises MalformedCertificate."""
        size = sum(len(headers[name]) for name in self.headers if name in headers)
        if size > LONGEST_HEADERS:
            raise MalformedCertificate(f"header of {size} bytes, {LONGEST_HEADERS} are allowed")
        leaf, others = self._read(headers)
        if leaf is None:
            if others:
                raise MalformedCertificate("chain without a certificate")
            return None
        chain = self.limit_chain(leaf, others)
        verdict, reason = self._judged(headers)
        if self._trust_proxy_verification and verdict is not ProxyVerdict.VERIFIED:
            return None
        return ForwardedCertificate(leaf, verdict, reason, chain)

    @property
    def passes_chain(self) -> bool:
        """Whether the proxy can pass certificates beside the leaf on."""
        return bool(self._chain_header or self._indexed)

    def limit_chain(self, leaf: bytes, others: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return the certificates beside the leaf; raises MalformedCertificate for too many."""
        chain = tuple(der for der in others if der != leaf)
        if len(chain) > self._longest_chain:
            raise MalformedCertificate(
                f"chain of {len(chain)} certificates, {self._longest_chain} are allowed"
            )
        return chain

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


class NginxLookup(CertificateLookup):
    """Reads what nginx reports: `$ssl_client_escaped_cert` and `$ssl_client_verify`.

    The first is URL-encoded PEM, the second is `SUCCESS`, `FAILED:reason` or `NONE`. nginx cannot
    report the chain.

    Keycloak decodes by form rules and treats an unreadable header as no certificate. Here a `+` is
    a plus sign, never a space (nginx escapes it), and anything but exactly one certificate is an
    error: ignoring it would hide an attack or a broken proxy.

    Keycloak: 11.1 certificate lookup, provider `nginx`. Spec: RFC 7468 §5; RFC 3986 §2.1
    """

    name: ClassVar = "nginx"
    default_header: ClassVar = "ssl-client-cert"
    default_verdict_header: ClassVar = VERDICT_HEADER
    default_url_encoded: ClassVar = True
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "ssl-cert-chain-prefix": "certificate_chain_prefix",
        "certificate-chain-length": "certificate_chain_length",
        "cert-is-url-encoded": "certificate_url_encoded",
        "trust-proxy-verification": "trust_proxy_verification",
    }
    own_options: ClassVar = frozenset[str]()
    variable: ClassVar = "$ssl_client_escaped_cert"
    """The nginx variable for the header of the certificate."""

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        chain = map(self._decoded, self._indexed_values(headers))
        return self._decoded(headers.get(self.header, b"")), [der for der in chain if der]

    def _decoded(self, value: bytes) -> bytes | None:
        value = without_quotes(value)
        if not value:
            return None
        if self._url_encoded:
            return from_pem(from_url_encoding(value), form="URL-encoded PEM")
        return from_pem(value, line_ends=FOLDED)


_VERIFIED: Final = b"0"
_ERROR: Final = re.compile(rb"[1-9][0-9]{0,4}")


class HaproxyLookup(CertificateLookup):
    """Reads what HAProxy reports: `ssl_c_der`, `ssl_c_chain_der` and `ssl_c_verify`.

    The certificate is DER in base64, or PEM. The chain is one header with the DER of all
    certificates one after the other, in base64, or a header for each. The verdict is a number of
    OpenSSL: 0 for a verified certificate, else the error.

    Keycloak: 11.1 certificate lookup, provider `haproxy`.
    Spec: https://docs.haproxy.org/2.6/configuration.html#7.3.4-ssl_c_verify
    """

    name: ClassVar = "haproxy"
    default_header: ClassVar = "ssl-client-cert"
    default_verdict_header: ClassVar = VERDICT_HEADER
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "ssl-cert-chain": "certificate_chain_header",
        "ssl-cert-chain-prefix": "certificate_chain_prefix",
        "certificate-chain-length": "certificate_chain_length",
        "trust-proxy-verification": "trust_proxy_verification",
    }

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        value = headers.get(self._chain_header, b"")
        chain = split_der(from_base64(value, "chain")) if value else []
        indexed = map(_decode_haproxy, self._indexed_values(headers))
        leaf = _decode_haproxy(headers.get(self.header, b""))
        return leaf, [*chain, *(der for der in indexed if der)]

    def _verdict(self, value: bytes) -> Verdict:
        if value == _VERIFIED:
            return ProxyVerdict.VERIFIED, None
        if _ERROR.fullmatch(value):
            return ProxyVerdict.FAILED, f"OpenSSL error {value.decode()}"
        return ProxyVerdict.NONE, None


def _decode_haproxy(value: bytes) -> bytes | None:
    value = without_quotes(value)
    return from_pem_or_base64(value) if value else None


_UNSET: Final = (b"", b"(null)")
_GENEROUS: Final = b"GENEROUS"


class ApacheLookup(CertificateLookup):
    """Reads what Apache reports: `SSL_CLIENT_CERT`, the chain by index, and SSL_CLIENT_VERIFY.

    Certificates are PEM with spaces for their line ends. mod_headers writes `(null)` for a variable
    that is not set: no certificate. The verdict is `SUCCESS`, `FAILED:reason`, `NONE`, or
    `GENEROUS` where `SSLVerifyClient optional_no_ca` let a certificate pass whose issuer Apache
    could not verify.

    Keycloak: 11.1 certificate lookup, provider `apache`. Spec: RFC 7468 §5;
    https://httpd.apache.org/docs/2.4/mod/mod_ssl.html#envvars
    """

    name: ClassVar = "apache"
    default_header: ClassVar = "ssl-client-cert"
    default_verdict_header: ClassVar = VERDICT_HEADER
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "ssl-cert-chain-prefix": "certificate_chain_prefix",
        "certificate-chain-length": "certificate_chain_length",
        "trust-proxy-verification": "trust_proxy_verification",
    }

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        chain = map(_decode_apache, self._indexed_values(headers))
        return _decode_apache(headers.get(self.header, b"")), [der for der in chain if der]

    def _verdict(self, value: bytes) -> Verdict:
        if value == _GENEROUS:
            return ProxyVerdict.FAILED, "GENEROUS: the issuer could not be verified"
        return verdict_in_words(value)


def _decode_apache(value: bytes) -> bytes | None:
    value = without_quotes(value)
    return None if value in _UNSET else from_pem_or_base64(value)


_PAIR: Final = re.compile(rb'([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^",;]*))(;|,|\Z)', re.DOTALL)
_CERTIFICATE, _CHAIN, _HASH = b"cert", b"chain", b"hash"
_READ: Final = frozenset({_CERTIFICATE, _CHAIN, _HASH})


class EnvoyLookup(CertificateLookup):
    """Reads what Envoy reports: `x-forwarded-client-cert` (XFCC), elements of `Key=value` pairs.

    `Chain` holds the leaf and its chain, `Cert` the leaf alone, both URL-encoded PEM. Keycloak
    reads `Chain` alone. Exactly one element is accepted: with `APPEND_FORWARD` or `FORWARD_ONLY`
    another one could be the client's own, so Envoy needs `SANITIZE_SET`. Envoy reports no verdict.

    Envoy writes URIs and DNS names of the certificate as they are, so they can contain `;Chain=`
    and the certificate of another client: `Hash`, which Envoy writes before them, has to be of the
    leaf.

    Keycloak: 11.1 certificate lookup, provider `envoy`. Spec:
    https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/headers#x-forwarded-client-cert
    """

    name: ClassVar = "envoy"
    default_header: ClassVar = "x-forwarded-client-cert"
    options: ClassVar = {"trust-proxy-verification": "trust_proxy_verification"}
    passes_chain: ClassVar = True

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        pairs = _pairs(headers.get(self.header, b""))
        chain = from_pem_blocks(pairs[_CHAIN]) if _CHAIN in pairs else []
        leaf = from_pem(pairs[_CERTIFICATE]) if _CERTIFICATE in pairs else None
        if chain and leaf is not None and leaf != chain[0]:
            raise MalformedCertificate("Cert is not the first certificate of Chain")
        leaf = chain[0] if chain else leaf
        if leaf is not None and _HASH in pairs and pairs[_HASH].lower() != _sha256(leaf):
            raise MalformedCertificate("Hash is not that of the certificate")
        return leaf, chain[1:]


def _pairs(value: bytes) -> dict[bytes, bytes]:
    """Return the decoded values of Cert, Chain and Hash, as far as they are there and not empty."""
    found: dict[bytes, bytes] = {}
    start = 0
    while start < len(value):
        pair = _PAIR.match(value, start)
        if pair is None:
            raise MalformedCertificate("header is not a list of Key=value pairs")
        key, quoted, plain, end = pair.groups()
        if end == b",":
            raise MalformedCertificate("header has more than one element: SANITIZE_SET is needed")
        if key.lower() in _READ:
            if key.lower() in found:
                raise MalformedCertificate(f"header has {key.decode()} more than once")
            found[key.lower()] = from_url_encoding(plain if quoted is None else quoted)
        start = pair.end()
    return {key: text for key, text in found.items() if text}


def _sha256(der: bytes) -> bytes:
    return hashlib.sha256(der).hexdigest().encode()


_SEPARATOR: Final = b","


class TraefikLookup(CertificateLookup):
    """Reads what Traefik's middleware PassTLSClientCert reports: base64, between commas.

    The first certificate is the leaf. Traefik 3 writes them bare; `cert-is-url-encoded` is for a
    proxy that URL-encodes the header. Traefik reports no verdict, and leaves a header of the client
    as it is where the connection has no certificate.

    Keycloak: 11.1 certificate lookup, provider `traefik`.
    Spec: https://doc.traefik.io/traefik/middlewares/http/passtlsclientcert/
    """

    name: ClassVar = "traefik"
    default_header: ClassVar = "x-forwarded-tls-client-cert"
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "certificate-chain-length": "certificate_chain_length",
        "cert-is-url-encoded": "certificate_url_encoded",
        "trust-proxy-verification": "trust_proxy_verification",
    }
    passes_chain: ClassVar = True

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        value = headers.get(self.header, b"")
        if not value:
            return None, []
        if self._url_encoded:
            value = from_url_encoding(value)
        leaf, *chain = map(from_pem_or_base64, value.split(_SEPARATOR))
        return leaf, chain


_WHITE_SPACE: Final = b" \t"
_COLON: Final = b":"


class Rfc9440Lookup(CertificateLookup):
    """Reads what a proxy reports by RFC 9440: `Client-Cert` and `Client-Cert-Chain`.

    Each certificate is a structured byte sequence, `:<base64 of the DER>:`; the chain is a list of
    them without the leaf. Base64 has to be padded, and a chain in more than one header line is
    refused: one of the lines could be the client's. The standard has no header for a verdict.

    Keycloak: 11.1 certificate lookup, provider `rfc9440`. Spec: RFC 9440 §2; RFC 8941 §3.1, §3.3.5
    """

    name: ClassVar = "rfc9440"
    default_header: ClassVar = "client-cert"
    default_chain_header: ClassVar = "client-cert-chain"
    options: ClassVar = {
        "ssl-client-cert": "certificate_header",
        "ssl-cert-chain": "certificate_chain_header",
        "certificate-chain-length": "certificate_chain_length",
        "trust-proxy-verification": "trust_proxy_verification",
    }

    def _read(self, headers: Mapping[bytes, bytes]) -> LeafAndChain:
        leaf, chain = headers.get(self.header, b""), headers.get(self._chain_header, b"")
        items = chain.split(_SEPARATOR) if chain else []
        return (
            _byte_sequence(leaf) if leaf else None,
            [_byte_sequence(item.strip(_WHITE_SPACE)) for item in items],
        )


def _byte_sequence(item: bytes) -> bytes:
    if not item.startswith(_COLON) or not item.endswith(_COLON):
        raise MalformedCertificate("header is not a byte sequence between colons")
    return from_base64(item[1:-1], "byte sequence")


LOOKUPS: Final[Mapping[str, type[CertificateLookup]]] = {
    NginxLookup.name: NginxLookup,
    HaproxyLookup.name: HaproxyLookup,
    ApacheLookup.name: ApacheLookup,
    EnvoyLookup.name: EnvoyLookup,
    TraefikLookup.name: TraefikLookup,
    Rfc9440Lookup.name: Rfc9440Lookup,
}
"""Every lookup by its provider id, the default first; settings and flags are made from it."""
EVERY_DEFAULT_HEADER: Final = frozenset[bytes]().union(
    *(lookup.default_headers() for lookup in LOOKUPS.values())
)
"""The headers of all dialects: a client may set none of them, whichever dialect is configured."""
