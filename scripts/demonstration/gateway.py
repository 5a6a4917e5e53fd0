"""The running stack: its addresses and secrets, and requests to its endpoints."""

import base64
import hashlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from scripts.demonstration.https import HttpsClient

HTTP_OK, UNAUTHORIZED, FORBIDDEN = 200, 401, 403
TOKEN = "/protocol/openid-connect/token"  # noqa: S105 - a path
SERVICE, USER = "demo-service", "ada"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    status: int
    document: dict[str, Any]

    @property
    def error(self) -> str:
        """Return the server's own words."""
        return ": ".join(
            str(self.document[name])
            for name in ("error", "error_description")
            if name in self.document
        )


class Gateway:
    """The running stack, as `run.env` describes it."""

    def __init__(self, state: Path) -> None:
        """Read the addresses and secrets of the state folder `state`."""
        lines = shlex.split((state / "run.env").read_text())
        facts = dict(line.partition("=")[::2] for line in lines)
        self.https = facts["REALMGATE_URL"]
        self.mtls = facts["REALMGATE_MTLS_URL"]
        self.site = facts["REALMGATE_SITE_URL"]
        self.realm = "/realms/" + facts["REALMGATE_REALM"]
        self.client_id = facts["REALMGATE_CLIENT_ID"]
        self.secret_file = state / "secrets" / f"{SERVICE}.secret"
        self.service_secret = self.secret_file.read_text().strip()
        self.user_password = (state / "secrets" / f"{USER}.password").read_text().strip()
        self.client = HttpsClient(state / "certs")

    def post(self, url: str, path: str, device: str | None, **form: str) -> Answer:
        """Send a form, showing the certificate of `device`."""
        return self._request("POST", url, path, device, urlencode(form))

    def get(self, path: str) -> Answer:
        """Fetch a document as anybody may."""
        return self._request("GET", self.https, path, None, None)

    def token(self, device: str) -> Answer:
        """Request a token with the certificate of `device` alone."""
        return self.post(
            self.mtls, TOKEN, device, grant_type="client_credentials", client_id=self.client_id
        )

    def thumbprint(self, device: str) -> str:
        """Return what `cnf` must say: SHA-256 of the certificate, computed here."""
        pem = (self.client.certificates / f"{device}.crt").read_bytes()
        der = x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
        return base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()

    def _request(
        self, method: str, url: str, path: str, device: str | None, body: str | None
    ) -> Answer:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        response = self.client.request(
            method, url + self.realm + path, headers=headers, body=body, device=device
        )
        return Answer(response.status, json.loads(response.content) if response.content else {})
