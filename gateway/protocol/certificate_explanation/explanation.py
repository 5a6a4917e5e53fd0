"""The explanation of a certificate as values, and as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from gateway.domain.certificate_names import Device
from gateway.domain.certificates import CertificateFacts, CertificationPath, PresentedCertificate
from gateway.domain.clients import Client


class Step(StrEnum):
    """What is checked, in this order."""

    CERTIFICATE = "certificate"
    PATH = "path"
    VALIDITY = "validity"
    REVOCATION = "revocation"
    CLIENT = "client"
    TOKEN = "token"  # noqa: S105 - a name


class RevocationState(StrEnum):
    """What a source of revocation says."""

    GOOD = "not revoked"
    REFUSED = "refused"
    NOT_ASKED = "not asked"
    """The certificate was refused before, or nothing is configured."""
    NO_LIST = "no list of its authorities"
    """Nothing refuses the certificate, but no list could."""


@dataclass(frozen=True, slots=True)
class RevocationFinding:
    """What one source says. `lists` are issuer, issue and end of each revocation list."""

    source: str
    state: RevocationState
    reason: str | None = None
    lists: tuple[tuple[str, datetime, datetime], ...] = ()


@dataclass(frozen=True, slots=True)
class MatchedRule:
    """The client that the certificate authenticates, and by which registered rule."""

    client: Client
    device: Device | None = None

    def document(self) -> dict[str, Any]:
        registered, template = self.client.certificate_authentication, self.client.devices.template
        name = registered.alternative_name
        if registered.self_signed:
            rule = {"kind": "registered certificate or key"}
        elif template is not None:
            rule = {"kind": "template", "value": template.text}
        elif name is not None:
            rule = {"kind": f"{name.kind} name", "value": name.value}
        else:
            kind = "subject expression" if registered.is_pattern else "subject"
            rule = {"kind": kind, "value": registered.subject}
        found: dict[str, Any] = {"client": self.client.client_id, "rule": rule}
        if self.device is not None:
            found["device"] = {"name": self.device.name, "variables": dict(self.device.values)}
        return found


@dataclass(frozen=True, slots=True)
class CertificateExplanation:
    """What was found up to the first failing step; None for what was not reached.

    `failed` and `reason` are None for an accepted certificate. `token` are claims of a token that
    was not issued; `note` says why an accepted certificate has none.
    """

    realm: str
    leaf: PresentedCertificate | None = None
    key: str = ""
    path: CertificationPath | None = None
    revocation: tuple[RevocationFinding, ...] = ()
    match: MatchedRule | None = None
    token: Mapping[str, Any] | None = field(default=None, repr=False)
    note: str | None = None
    failed: Step | None = None
    reason: str | None = None

    @property
    def accepted(self) -> bool:
        return self.failed is None

    def document(self) -> dict[str, Any]:
        """Return the JSON object; instants are RFC 3339."""
        path = None if self.path is None else _path(self.path)
        return {
            "realm": self.realm,
            "decision": "accepted" if self.accepted else "refused",
            "failedStep": self.failed,
            "reason": self.reason,
            "certificate": None if self.leaf is None else _leaf(self.leaf, self.key),
            "path": path,
            "revocation": [_finding(each) for each in self.revocation],
            "match": None if self.match is None else self.match.document(),
            "token": None if self.token is None else dict(self.token),
            "note": self.note,
        }


def _leaf(leaf: PresentedCertificate, key: str) -> dict[str, Any]:
    return {
        **_facts(leaf),
        "issuer": leaf.issuer.rfc4514(),
        "serial": f"{leaf.serial:x}",
        "key": key,
        "dns": list(leaf.dns_names),
        "uri": list(leaf.uris),
        "ip": list(leaf.ip_addresses),
        "email": list(leaf.emails),
        "sha256": leaf.digest.hex(),
        "x5t#S256": leaf.thumbprint,
    }


def _facts(certificate: CertificateFacts) -> dict[str, Any]:
    return {
        "subject": certificate.subject.rfc4514(),
        "notBefore": certificate.not_before.isoformat(),
        "notAfter": certificate.not_after.isoformat(),
    }


def _path(path: CertificationPath) -> dict[str, Any]:
    return {
        "anchorOf": path.origin.value,
        "authorities": [
            {**_facts(each), "sha256": each.digest.hex()} for each in path.certificates[1:]
        ],
    }


def _finding(finding: RevocationFinding) -> dict[str, Any]:
    return {
        "source": finding.source,
        "state": finding.state.value,
        "reason": finding.reason,
        "lists": [
            {"issuer": issuer, "issued": issued.isoformat(), "nextUpdate": end.isoformat()}
            for issuer, issued, end in finding.lists
        ],
    }
