"""CertificateInspector: certificates as people have them, in files and in JSON."""

from urllib.parse import unquote_to_bytes

from gateway.crypto.pem import CERTIFICATE_LABELS, is_pem, pem_blocks
from gateway.crypto.x509.description import ESCAPED_BEGINNING, describe, load_certificate
from gateway.crypto.x509.issuing import PkiRefused
from gateway.domain.ports.certificates import MalformedCertificate


class X509Inspector:
    """Reads PEM, URL-escaped PEM as nginx sends it, and DER."""

    def split(self, data: bytes) -> tuple[bytes, ...]:
        text = data.strip().strip(b'"')
        if ESCAPED_BEGINNING in text:
            text = unquote_to_bytes(text)
        try:
            found = tuple(pem_blocks(text, *CERTIFICATE_LABELS)) if is_pem(text) else (data,)
        except ValueError as error:
            raise MalformedCertificate(f"not PEM: {error}") from error
        if not found or not found[0]:
            raise MalformedCertificate("no certificate in PEM or DER")
        return found

    def describe_key(self, der: bytes) -> str:
        try:
            return describe(load_certificate(der)).key
        except (PkiRefused, ValueError) as error:
            raise MalformedCertificate(str(error)) from error
