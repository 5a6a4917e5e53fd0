"""A realm whose clients are known by names of certificates, and the certificates, at real nginx."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.crypto.x509.development_pki import ISSUING, read_authority
from gateway.crypto.x509.issuing import name
from tests.support.certificates import CertificateKeeper
from tests.support.gateway_process import until
from tests.support.spec_stack import Stack, protocol

CERTIFICATE = "realmgate.certificate."
_KINDS: Mapping[str, Callable[[str], x509.GeneralName]] = {
    "dns": x509.DNSName,
    "uri": x509.UniformResourceIdentifier,
    "email": x509.RFC822Name,
    "ip": lambda text: x509.IPAddress(ipaddress.ip_address(text)),
}


def client(client_id: str, **attributes: str) -> dict[str, Any]:
    """Return a client with a certificate; `san_dns` means `realmgate.certificate.san.dns`."""
    named = {
        text if "." in text else f"{CERTIFICATE}{text.replace('_', '.')}": value
        for text, value in attributes.items()
    }
    return {
        "clientId": client_id,
        "enabled": True,
        "clientAuthenticatorType": "client-x509",
        "serviceAccountsEnabled": True,
        "attributes": named,
    }


def names(*written: str) -> tuple[tuple[x509.ExtensionType, bool], ...]:
    """Return the extension with alternative names such as `dns:a.example`."""
    pairs = [one.partition(":") for one in written]
    return ((x509.SubjectAlternativeName([_KINDS[kind](text) for kind, _, text in pairs]), False),)


@dataclass(frozen=True, slots=True)
class CertificateClients:
    """The realm `name` behind the stack's nginx."""

    stack: Stack
    name: str
    keeper: CertificateKeeper
    open_ones: ExitStack
    shown: dict[tuple[str, bool], httpx2.Client] = field(default_factory=dict)

    @classmethod
    def make(
        cls,
        stack: Stack,
        realm: str,
        folder: Path,
        clients: Sequence[Mapping[str, Any]],
        open_ones: ExitStack,
    ) -> "CertificateClients":
        keeper = CertificateKeeper(
            folder, read_authority(stack.certificates.folder, ISSUING), datetime.now(UTC)
        )
        made = cls(stack, realm, keeper, open_ones)
        document = {"realm": realm, "enabled": True, "clients": list(clients)}
        answer = made.admin("POST", "", {**document, "defaultSignatureAlgorithm": "ES256"})
        assert answer.status_code == httpx2.codes.CREATED, answer.text
        return made

    def admin(self, method: str, path: str, document: object = None) -> httpx2.Response:
        """Ask the admin API as the administrator; an empty path is the list of realms."""
        below = f"/{self.name}/{path}" if path else ""
        return self.stack.http.request(
            method,
            f"{self.stack.nginx.https}/admin/realms{below}",
            json=document,
            headers={"Authorization": f"Bearer {self.stack.administrator()}"},
        )

    def id_of(self, client_id: str) -> str:
        (found,) = self.admin("GET", f"clients?clientId={client_id}").json()
        return str(found["id"])

    def with_attributes(self, client_id: str, **attributes: str) -> httpx2.Response:
        """Change attributes of a client."""
        path = f"clients/{self.id_of(client_id)}"
        return self.admin(
            "PUT", path, {"attributes": client(client_id, **attributes)["attributes"]}
        )

    def issue(self, kind: str, *written: str, cn: str = "device", **how: Any) -> str:
        """Issue a certificate with these alternative names, and return its name."""
        extensions = names(*written) if written else ()
        subject = how.pop("subject", name(cn))
        self.keeper.add(kind, subject=subject, extensions=extensions, **how)
        return kind

    def http(self, certificate: str, *, self_signed: bool = False) -> httpx2.Client:
        """Return a client that shows the certificate, kept open for the next request."""
        key = (certificate, self_signed)
        if key not in self.shown:
            pair = self.keeper.animals[certificate].certificate.with_suffix("")
            self.shown[key] = self.open_ones.enter_context(self.stack.nginx.client(pair))
        return self.shown[key]

    def post(
        self, path: str, certificate: str, form: Mapping[str, str], *, self_signed: bool = False
    ) -> httpx2.Response:
        """POST a form with the certificate, to the listener for self-signed ones if asked."""
        nginx = self.stack.nginx
        base = nginx.self_signed if self_signed else nginx.mtls
        http = self.http(certificate, self_signed=self_signed)
        return http.post(f"{base}{protocol(self.name)}/{path}", data=dict(form))

    def token(
        self, certificate: str, client_id: str = "", *, self_signed: bool = False, **form: str
    ) -> httpx2.Response:
        """Ask for a token of the service account; without a client_id unless one is given."""
        asked = {"grant_type": "client_credentials", **form}
        if client_id:
            asked["client_id"] = client_id
        return self.post("token", certificate, asked, self_signed=self_signed)

    def admitted(self, certificate: str, client_id: str, **how: Any) -> bool:
        """Return whether the certificate authenticates the client."""
        answer = self.token(certificate, client_id, **how)
        assert answer.status_code in {200, 401}, answer.text
        return answer.status_code == httpx2.codes.OK

    def reason(self, answer: httpx2.Response) -> str:
        """Return why a request was refused, from the gateway's log."""
        wanted = answer.headers["x-request-id"]

        def logged() -> str:
            lines = (line for gateway in self.stack.gateways for line in gateway.log())
            found = (line for line in lines if line.get("request_id") == wanted)
            return next((str(line.get("reason")) for line in found), "")

        return until(logged, "the request is not in the log")


def device_key() -> ec.EllipticCurvePrivateKey:
    """Return a new key."""
    return ec.generate_private_key(ec.SECP256R1())
