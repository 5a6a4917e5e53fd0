"""A client that binds its tokens to a key of its own (DPoP, RFC 9449).

    pip install 'pyjwt[crypto]'
    CLIENT_ID=my-app CLIENT_SECRET_FILE=secret ISSUER=https://id.example.org/realms/demo \
        python dpop_client.py

It gets a token by client_credentials and shows it at userinfo, each time with a proof of its key.
Behind a private authority, set SSL_CERT_FILE to its certificate.
"""

import base64
import hashlib
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm


class DpopKey:
    """A private key that never leaves this process, and the proofs that it signs."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._public = ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)

    def proof(self, method: str, url: str, access_token: str | None = None) -> str:
        """Return the value of the header `DPoP` for one request; each request needs a new one."""
        claims = {
            "htm": method,
            "htu": url,  # without query and fragment
            "iat": int(time.time()),
            "jti": str(uuid.uuid4()),
        }
        if access_token is not None:
            digest = hashlib.sha256(access_token.encode()).digest()
            claims["ath"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        header = {"typ": "dpop+jwt", "jwk": self._public}
        return jwt.encode(claims, self._key, "ES256", headers=header)


def call(url: str, headers: dict[str, str], form: dict[str, str] | None = None) -> Any:
    """Send the form by POST, or a GET without one, and return the JSON of the answer."""
    body = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - the issuer that you configured
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{error.code} {error.read().decode()}") from error


def main() -> None:
    """Get a token and use it."""
    base = f"{os.environ['ISSUER']}/protocol/openid-connect"
    form = {
        "grant_type": "client_credentials",
        "scope": "openid",
        "client_id": os.environ["CLIENT_ID"],
        "client_secret": Path(os.environ["CLIENT_SECRET_FILE"]).read_text().strip(),
    }
    key = DpopKey()
    answer = call(f"{base}/token", {"DPoP": key.proof("POST", f"{base}/token")}, form)
    token = answer["access_token"]
    print("token_type", answer["token_type"])  # noqa: T201
    url = f"{base}/userinfo"
    headers = {"Authorization": f"DPoP {token}", "DPoP": key.proof("GET", url, token)}
    print("userinfo", call(url, headers))  # noqa: T201


if __name__ == "__main__":
    main()
