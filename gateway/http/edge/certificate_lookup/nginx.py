"""What nginx reports: `$ssl_client_escaped_cert`, URL-encoded PEM, and `$ssl_client_verify`.

The second is `SUCCESS`, `FAILED:reason` or `NONE`.

Keycloak decodes by form rules and treats an unreadable header as no certificate. Here a `+` is a
plus sign, never a space (nginx escapes it), and anything but exactly one certificate is an error:
ignoring it would hide an attack or a broken proxy.

Keycloak: 11.1, provider `nginx`. Spec: RFC 7468 §5; RFC 3986 §2.1
"""

import binascii
import re
from collections.abc import Mapping
from typing import ClassVar, Final
from urllib.parse import unquote_to_bytes

from gateway.domain.certificates import ProxyVerdict
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.http.edge.certificate_lookup.lookup import (
    CertificateLookup,
    ForwardedCertificate,
)

VERDICT_HEADER: Final = b"ssl-client-verify"
SUCCESS, FAILED = b"SUCCESS", b"FAILED:"
LONGEST_HEADER = 64 * 1024
BEGIN, END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
LINE_ENDS = b"\r\n"
QUOTE = b'"'
WRONG_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class NginxLookup(CertificateLookup):
    """Reads the header of the certificate and `ssl-client-verify`."""

    name: ClassVar = "nginx"
    default_header: ClassVar = "ssl-client-cert"
    verdict_headers: ClassVar = frozenset({VERDICT_HEADER})
    options: ClassVar = {"ssl-client-cert": "certificate_header"}
    variable: ClassVar = "$ssl_client_escaped_cert"
    """The nginx variable for the header of the certificate."""

    def __init__(self, header: str = default_header) -> None:
        super().__init__(header)

    def find(self, headers: Mapping[bytes, bytes]) -> ForwardedCertificate | None:
        value = headers.get(self.header)
        leaf = certificate_from_header(value) if value else None
        if leaf is None:
            return None
        return ForwardedCertificate(leaf, *_verdict(headers.get(VERDICT_HEADER, b"")))


def _verdict(value: bytes) -> tuple[ProxyVerdict, str | None]:
    if value == SUCCESS:
        return ProxyVerdict.VERIFIED, None
    if value.startswith(FAILED):
        return ProxyVerdict.FAILED, value.removeprefix(FAILED).decode("latin-1")
    return ProxyVerdict.NONE, None


def certificate_from_header(value: bytes) -> bytes | None:
    """Return the DER of the one certificate in `value`, None when it is empty."""
    if len(value) > LONGEST_HEADER:
        raise MalformedCertificate(f"header of {len(value)} bytes, {LONGEST_HEADER} are allowed")
    escaped = _without_quotes(value)
    if not escaped:
        return None
    # unquote_to_bytes leaves a wrong escape as it is, and is slow when there are many.
    if WRONG_ESCAPE.search(escaped):
        raise MalformedCertificate("header has a percent sign without two hexadecimal digits")
    text = unquote_to_bytes(escaped).rstrip(LINE_ENDS)
    if not text.startswith(BEGIN) or not text.endswith(END):
        raise MalformedCertificate("header is not one URL-encoded PEM certificate")
    return _from_base64(text[len(BEGIN) : -len(END)].translate(None, LINE_ENDS))


def _without_quotes(value: bytes) -> bytes:
    if len(value) > 1 and value.startswith(QUOTE) and value.endswith(QUOTE):
        return value[1:-1]
    return value


def _from_base64(encoded: bytes) -> bytes:
    try:
        der = binascii.a2b_base64(encoded, strict_mode=True)
    except binascii.Error as error:
        raise MalformedCertificate(f"PEM is not clean base64: {error}") from error
    if not der:
        raise MalformedCertificate("PEM is empty")
    return der
