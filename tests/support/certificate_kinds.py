"""One certificate of each kind that a client may show, around the PKI of the edge certificates.

All but the one of the template have the subject of `device-1`, so only the kind decides.
"""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.crypto.x509.development_pki import (
    ISSUING,
    REVOCATION_LISTS,
    ROOT,
    TRUST_BUNDLE,
    pem,
    read_authority,
)
from gateway.crypto.x509.issuing import (
    IssuingAuthority,
    ValidityPeriod,
    issue_revocation_list,
    name,
)
from tests.support.certificates import DAY, CertificateKeeper, Extension
from tests.support.chains import CA, Node, issue
from tests.support.edge_certificates import EdgeCertificates
from tests.support.sign_in_browser import web_client
from tests.support.wire import BOUND, DEVICE_SUBJECT, app, client, device, user

REALM: Final = "matrix"
GOOD: Final = "valid"
REGISTERED: Final = "self-signed, registered for the client"
TEMPLATE: Final = "of a device, for a template"
DENIED: Final = "on the deny list"
KINDS: Final[Mapping[str, str | None]] = {
    "none": None,
    "none, with a forged header": None,
    GOOD: "valid",
    TEMPLATE: TEMPLATE,
    REGISTERED: "self-signed",
    "self-signed, not registered": "self-signed CA:TRUE",
    "of an unknown authority": "unknown CA",
    "of an authority with the name of a trusted one": "same-named CA with another key",
    "of an authority of the realm": "of the realm",
    "expired": "expired",
    "not yet valid": "not yet valid",
    "without client authentication in its purposes": "wrong EKU",
    "weak key": "weak key",
    "of an authority (CA:TRUE)": "CA:TRUE",
    "outside the name constraints of its authority": "constrained",
    DENIED: "denied",
    "revoked by a list": "revoked",
    "its intermediate authority unknown": "intermediate unknown",
    "its intermediate authority sent with it": "intermediate sent",
    "its intermediate authority registered in the realm": "intermediate registered",
}
"""The kinds of docs/certificate-outcomes.md, by the names of their certificates."""


@dataclass(frozen=True, slots=True)
class CertificateKinds:
    """The certificates, and the authorities that the realm registers."""

    certificates: EdgeCertificates
    authorities: Sequence[Node]
    denied: str
    """SHA-256 of the certificate for the deny list."""

    def realm(self) -> dict[str, Any]:
        """Return the realm in which they are used in every way."""
        certificate = self.certificates.pair("self-signed").with_suffix(".crt").read_text()
        own = "".join(certificate.splitlines()[1:-1])
        return {
            "realm": REALM,
            "enabled": True,
            "sslRequired": "all",
            "defaultSignatureAlgorithm": "ES256",
            "attributes": {"realmgate.certificates.gatewayAuthorities": "true"},
            "certificateAuthorities": [{"certificate": node.pem} for node in self.authorities],
            "clients": [
                device("device-1", DEVICE_SUBJECT, **BOUND),
                _by_certificate("fleet", template="spiffe://edge.test/{device}", **BOUND),
                _by_certificate(
                    "self-signed",
                    **{"self.signed": "true", "jwt.credential.certificate": own},
                ),
                client("bound", attributes=BOUND),
                app("app"),
                web_client("web"),
            ],
            "users": [user("device-1")],
            "authenticationFlows": [_FLOW, _PAGES],
            "authenticatorConfig": [_BY_COMMON_NAME],
            "directGrantFlow": "certificate",
            "browserFlow": "certificate or password",
        }


_FLOW: Final = {
    "alias": "certificate",
    "providerId": "basic-flow",
    "topLevel": True,
    "authenticationExecutions": [
        {
            "authenticator": "direct-grant-auth-x509-username",
            "requirement": "REQUIRED",
            "authenticatorConfig": "by name",
        }
    ],
}
_PAGES: Final = {
    "alias": "certificate or password",
    "providerId": "basic-flow",
    "topLevel": True,
    "authenticationExecutions": [
        {
            "authenticator": "auth-x509-client-username-form",
            "requirement": "ALTERNATIVE",
            "priority": 10,
            "authenticatorConfig": "by name",
        },
        {
            "authenticator": "auth-username-password-form",
            "requirement": "ALTERNATIVE",
            "priority": 20,
        },
    ],
}
_BY_COMMON_NAME: Final = {
    "alias": "by name",
    "config": {
        "x509-cert-auth.mapping-source-selection": "Subject's Common Name",
        "x509-cert-auth.mapper-selection": "Username or Email",
    },
}


def _by_certificate(client_id: str, **attributes: str) -> dict[str, Any]:
    prefixed = {
        name if name.startswith(("tls.", "jwt.")) else f"realmgate.certificate.{name}": value
        for name, value in attributes.items()
    }
    return client(client_id, clientAuthenticatorType="client-x509", attributes=prefixed)


def make_certificate_kinds(edge: EdgeCertificates, folder: Path) -> CertificateKinds:
    """Make the certificates in `folder`, with a copy of the PKI that has one authority more."""
    pki = shutil.copytree(edge.folder, folder / "certs")
    now = datetime.now(UTC)
    keeper = CertificateKeeper(folder, read_authority(pki, ISSUING), now)
    root = _node(read_authority(pki, ROOT))
    constrained = _authority("constrained", root, _only("allowed.test"))
    unknown, registered = (_authority(kind, root) for kind in ("unknown", "registered"))
    of_realm = _authority("authority of the realm", None)
    keeper.add("denied")
    keeper.add("of the realm", issuer=_issuer(of_realm))
    keeper.add("constrained", issuer=_issuer(constrained), extensions=[_dns("other.test")])
    keeper.add("intermediate unknown", issuer=_issuer(unknown))
    keeper.add("intermediate registered", issuer=_issuer(registered))
    keeper.add("intermediate sent", issuer=_issuer(unknown))
    with keeper.animals["intermediate sent"].certificate.open("a") as file:
        file.write(unknown.pem)
    uri = x509.SubjectAlternativeName([x509.UniformResourceIdentifier("spiffe://edge.test/one")])
    keeper.add(TEMPLATE, extensions=[(uri, False)])
    with (pki / TRUST_BUNDLE).open("ab") as bundle:
        bundle.write(constrained.pem.encode())
    with (pki / REVOCATION_LISTS).open("ab") as lists:
        for node in (constrained, unknown, registered):
            validity = ValidityPeriod(now - DAY, now + DAY)
            lists.write(pem(issue_revocation_list(_issuer(node), (), 1, validity)))
    zoo = replace(edge.zoo, directory=pki, animals={**edge.zoo.animals, **keeper.animals})
    denied = hashlib.sha256(keeper.animals["denied"].der).hexdigest()
    return CertificateKinds(EdgeCertificates(zoo), (of_realm, registered), denied)


def _authority(common_name: str, issuer: Node | None, *extensions: x509.ExtensionType) -> Node:
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return issue(name(common_name), issuer, CA, identifier, *extensions, key=key, days=(-2, 2))


def _node(authority: IssuingAuthority) -> Node:
    return Node(authority.certificate, authority.key)


def _issuer(node: Node) -> IssuingAuthority:
    return IssuingAuthority(node.certificate, node.key)


def _only(domain: str) -> x509.NameConstraints:
    return x509.NameConstraints([x509.DNSName(domain)], None)


def _dns(host: str) -> Extension:
    return x509.SubjectAlternativeName([x509.DNSName(host)]), False
