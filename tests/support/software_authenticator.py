"""An authenticator in software: it makes keys and signs with them, right or wrong on purpose.

It encodes CBOR itself, so that nothing of the gateway's library is taken for granted.
Spec: WebAuthn Level 3 §6
"""

import base64
import hashlib
import json
import re
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.x509.oid import NameOID

from tests.support.sign_in_browser import PUBLIC_URL, Page

UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40
MODEL: Final = "f8a011f3-8c0a-4d15-8006-17111f9edc7d"
UNKNOWN_MODEL: Final = "00000000-0000-0000-0000-000000000000"
ES256, RS256 = -7, -257


def b64(raw: bytes) -> str:
    """Return Base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def options(page: Page, form: str) -> dict[str, str]:
    """Return the data attributes of a form: what the script gives to the browser."""
    found = re.search(rf'<form id="{form}"[^>]*>', page.html)
    assert found is not None, page.text
    return {
        name: unescape(text) for name, text in re.findall(r'data-([a-z-]+)="([^"]*)"', found[0])
    }


def allowed(page: Page) -> list[str]:
    """Return the ids of the keys that the browser may use."""
    return re.findall(r'name="authn_use_chk" value="([^"]*)"', page.html)


def cbor(value: Any) -> bytes:
    """Encode a value."""
    match value:
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case list():
            return _head(4, len(value)) + b"".join(map(cbor, value))
    return _head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def _head(kind: int, count: int) -> bytes:
    if count < 24:
        return bytes([kind << 5 | count])
    if count < 1 << 8:
        return bytes([kind << 5 | 24, count])
    if count < 1 << 16:
        return struct.pack(">BH", kind << 5 | 25, count)
    return struct.pack(">BI", kind << 5 | 26, count)


def _new_key(algorithm: int, bits: int) -> Any:
    if algorithm == ES256:
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(65537, bits)


@dataclass(frozen=True)
class Wrong:
    """What is done otherwise than asked."""

    origin: str | None = None
    rp_id: str | None = None
    challenge: str | None = None
    type: str | None = None
    cross_origin: bool = False
    flags: int | None = None
    signature: bytes | None = None
    key: Any = field(default=None, repr=False)


RIGHT: Final = Wrong()


@dataclass
class SoftwareAuthenticator:
    """A key of one user. `counts` is the next value of the counter, 0 for one that does not."""

    aaguid: str = UNKNOWN_MODEL
    algorithm: int = ES256
    bits: int = 2048
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    counter: int = 0
    user_handle: str = ""
    """Base64url of the id of its user, once it was registered."""
    origin: str = PUBLIC_URL

    def __post_init__(self) -> None:
        self.private_key = _new_key(self.algorithm, self.bits)

    @property
    def public_key(self) -> bytes:
        """The key in COSE."""
        numbers = self.private_key.public_key().public_numbers()
        if self.algorithm == ES256:
            x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
            return cbor({1: 2, 3: ES256, -1: 1, -2: x, -3: y})
        modulus = numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")
        return cbor({1: 3, 3: self.algorithm, -1: modulus, -2: numbers.e.to_bytes(3, "big")})

    def credential(self, **fields: Any) -> dict[str, Any]:
        """Return the credential as a realm file of Keycloak has it."""
        data = {
            "aaguid": self.aaguid,
            "credentialId": base64.b64encode(self.id).decode(),
            "counter": self.counter,
            "attestationStatement": None,
            "credentialPublicKey": b64(self.public_key),
            "attestationStatementFormat": "none",
            "transports": ["usb"],
        }
        return {
            "type": "webauthn",
            "userLabel": "Key",
            "credentialData": json.dumps(data),
            "secretData": "{}",
        } | fields

    def register(
        self,
        page: Page,
        wrong: Wrong = RIGHT,
        attestation: str = "none",
        model: str | None = None,
        **fields: str,
    ) -> dict[str, str]:
        """Return the fields of the form `register`; `model` is that of the certificate."""
        asked = options(page, "register")
        self.user_handle = asked["user-id"]
        client_data = self._client_data(asked["challenge"], "webauthn.create", wrong)
        made = bytes.fromhex(self.aaguid.replace("-", "")) + struct.pack(">H", len(self.id))
        flags = UP | UV | AT if wrong.flags is None else wrong.flags
        data = self._data(asked["rp-id"], flags, wrong) + made + self.id + self.public_key
        statement = self._statement(attestation, data, client_data, wrong, model)
        kind = attestation.partition(" ")[0]
        attested = cbor({"fmt": kind, "attStmt": statement, "authData": data})
        return {
            "clientDataJSON": b64(client_data),
            "attestationObject": b64(attested),
            "publicKeyCredentialId": b64(self.id),
            "authenticatorLabel": "Key",
            "transports": "usb,nfc,telepathy",
            "authenticatorAttachment": "cross-platform",
            "error": "",
            "isSetRetry": "",
            **fields,
        }

    def sign(self, page: Page, wrong: Wrong = RIGHT, **fields: str) -> dict[str, str]:
        """Return the fields of the form `webauth`."""
        asked = options(page, "webauth")
        client_data = self._client_data(asked["challenge"], "webauthn.get", wrong)
        if self.counter:
            self.counter += 1
        data = self._data(asked["rp-id"], UP | UV if wrong.flags is None else wrong.flags, wrong)
        signed = self._signed(data + hashlib.sha256(client_data).digest(), wrong)
        return {
            "clientDataJSON": b64(client_data),
            "authenticatorData": b64(data),
            "signature": b64(signed),
            "credentialId": b64(self.id),
            "userHandle": "",
            "error": "",
            **fields,
        }

    def _client_data(self, challenge: str, kind: str, wrong: Wrong) -> bytes:
        said = {
            "type": wrong.type or kind,
            "challenge": wrong.challenge or challenge,
            "origin": wrong.origin or self.origin,
            "crossOrigin": wrong.cross_origin,
        }
        return json.dumps(said).encode()

    def _data(self, rp_id: str, flags: int, wrong: Wrong) -> bytes:
        party = hashlib.sha256((wrong.rp_id or rp_id).encode()).digest()
        return party + struct.pack(">BI", flags, self.counter)

    def _signed(self, message: bytes, wrong: Wrong) -> bytes:
        if wrong.signature is not None:
            return wrong.signature
        return _signature(wrong.key or self.private_key, message)

    def _statement(
        self, attestation: str, data: bytes, client_data: bytes, wrong: Wrong, model: str | None
    ) -> Mapping[str, Any]:
        message = data + hashlib.sha256(client_data).digest()
        match attestation:
            case "packed self":
                return {"alg": self.algorithm, "sig": self._signed(message, wrong)}
            case "packed":
                maker = ec.generate_private_key(ec.SECP256R1())
                signed = replace(wrong, key=wrong.key or maker)
                certificate = _certificate(maker, model or self.aaguid)
                return {"alg": ES256, "sig": self._signed(message, signed), "x5c": [certificate]}
        return {}


def _signature(key: Any, message: bytes) -> bytes:
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(message, ec.ECDSA(hashes.SHA256()))
    signed: bytes = key.sign(message, PKCS1v15(), hashes.SHA256())
    return signed


def _certificate(key: ec.EllipticCurvePrivateKey, model: str) -> bytes:
    """Return the certificate of a maker's authenticators. Spec: WebAuthn Level 3 §8.2.1."""
    now = datetime.now(UTC)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "SE"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Maker"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "Authenticator Attestation"),
            x509.NameAttribute(NameOID.COMMON_NAME, "Key"),
        ]
    )
    raw = b"\x04\x10" + bytes.fromhex(model.replace("-", ""))
    of_model = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.4"), raw)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(of_model, critical=False)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.DER)
