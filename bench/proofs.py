"""DPoP proofs for a run of wrk: each request needs one of its own, signed by ES256.

Spec: RFC 9449 §4.2
"""

import base64
import hashlib
import json
import secrets
import time
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

_SHA256 = ec.ECDSA(SHA256())
_COORDINATE = 32
"""Bytes of a coordinate of P-256, and of each half of a signature."""


class Prover:
    """The key of one client."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        point = self._key.public_key().public_numbers()
        x, y = (_text(number.to_bytes(_COORDINATE, "big")) for number in (point.x, point.y))
        jwk = {"kty": "EC", "crv": "P-256", "x": x, "y": y}
        self._header = _json({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk})

    def proof(self, method: str, url: str, token: str | None = None) -> str:
        """Return a proof for a request now."""
        claims: dict[str, object] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url,
            "iat": int(time.time()),
        }
        if token is not None:
            claims["ath"] = _text(hashlib.sha256(token.encode()).digest())
        signed = f"{self._header}.{_json(claims)}"
        numbers = decode_dss_signature(self._key.sign(signed.encode(), _SHA256))
        signature = b"".join(number.to_bytes(_COORDINATE, "big") for number in numbers)
        return f"{signed}.{_text(signature)}"

    def write(self, file: Path, count: int, method: str, url: str, token: str | None = None) -> str:
        """Write so many proofs to a file, a line each; return `@FILE`."""
        file.write_text("\n".join(self.proof(method, url, token) for _ in range(count)))
        return f"@{file}"


def _json(document: object) -> str:
    return _text(json.dumps(document, separators=(",", ":")).encode())


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
