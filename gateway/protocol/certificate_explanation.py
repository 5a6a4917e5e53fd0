"""Why the gateway accepts or refuses a certificate: trust, client authentication, the token."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from gateway.certificates import AnchoredTrust
from gateway.client_policies import EventKind
from gateway.domain.certificate_names import CertifiedDevice
from gateway.domain.certificates import (
    CertificateEvidence,
    CertificateFacts,
    CertificationPath,
    ClientCertificate,
    PathResult,
    PresentedCertificate,
    ProxyVerdict,
    TrustLevel,
    serial_text,
)
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.errors import RealmNotFound
from gateway.domain.ports.certificates import (
    NO_LIST,
    OF_AN_AUTHORITY,
    UNKNOWN_ISSUER,
    CertificateInspector,
    CertificateParser,
    ForwardedChains,
    ListedRevocations,
    MalformedCertificate,
    Revocations,
)
from gateway.domain.ports.lookups import Directory, RealmEntry
from gateway.domain.realm import OcspPolicy, Realm
from gateway.protocol.client_authentication import AuthenticatedClient, ClientAuthenticator
from gateway.protocol.errors import OAuthError
from gateway.protocol.grants.client_credentials import (
    GRANT_TYPE,
    preview_access_token,
)
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import Parameters, ProtocolRequest


class Step(StrEnum):
    """The checks, in their order."""

    CERTIFICATE = "certificate"
    PATH = "path"
    VALIDITY = "validity"
    REVOCATION = "revocation"
    CLIENT = "client"
    TOKEN = "token"  # noqa: S105 - a name


class RevocationState(StrEnum):
    """The answer of a source of revocation."""

    GOOD = "not revoked"
    REFUSED = "refused"
    NOT_ASKED = "not asked"
    """The certificate was refused before, or nothing is configured."""
    NO_LIST = "no list of its authorities"
    """Nothing refuses the certificate, but no list could."""


@dataclass(frozen=True, slots=True)
class RevocationFinding:
    """The finding of one source. `lists` are issuer, issue and end of each revocation list."""

    source: str
    state: RevocationState
    reason: str | None = None
    lists: tuple[tuple[str, datetime, datetime], ...] = ()


@dataclass(frozen=True, slots=True)
class MatchedRule:
    """The client that the certificate authenticates, and by which registered rule."""

    client: Client
    device: CertifiedDevice | None = None

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
    """The findings up to the first failing step; None for later steps.

    `failed` and `reason` are None for an accepted certificate. `token` are claims of a token that
    was not issued; `note` says why there is none.
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
    lookup: str = ""
    """The certificate lookup that the gateway is configured with."""
    ignored: int = 0
    """Certificates besides the first that the proxy does not pass on."""

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
            "lookup": self.lookup,
            "ignoredCertificates": self.ignored,
        }


def _leaf(leaf: PresentedCertificate, key: str) -> dict[str, Any]:
    return {
        **_facts(leaf),
        "issuer": leaf.issuer.rfc4514(),
        "serial": serial_text(leaf.serial),
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


_MAKE_LEAF: Final = (
    "openssl req -x509 sets CA:TRUE by itself; -addext basicConstraints=critical,CA:FALSE makes a"
    " certificate for a client"
)
_ADD_LIST: Final = "realmgate doctor names every authority without a list, and the file for it"
_REGISTER: Final = (
    "realmgate certs authority add registers an authority for the realm; REALMGATE_CLIENT_CA_FILE"
    " has those of the proxy"
)
_HINTS: Final = tuple(
    (re.compile(pattern, re.DOTALL), hint)
    for pattern, hint in (
        (rf"{re.escape(OF_AN_AUTHORITY)}.*", _MAKE_LEAF),
        (rf"{re.escape(NO_LIST)}.*", _ADD_LIST),
        (rf"(it is self-signed: )?the issuer .* {re.escape(UNKNOWN_ISSUER)}", _REGISTER),
    )
)
"""What to do, by the whole reason: names inside it are those of a stranger's certificate."""
LONGEST_INPUT: Final = 64 * 1024
"""Bytes of the certificate and of the certificates that were sent with it."""
_NO_ACCOUNT: Final = "the client has no service account, so it gets no token in its own name"


@dataclass(frozen=True, slots=True)
class RevocationSources:
    """The sources that requests ask, in their order."""

    deny_lists: Revocations
    lists: ListedRevocations | None
    """Of the settings; None where they name none."""
    realm_lists: ListedRevocations
    points: ListedRevocations
    """The lists that certificates name."""
    ocsp: Revocations


class CertificateExplainer:
    """Explains without side effects; only a trusted path leads to OCSP. For one event loop."""

    def __init__(
        self,
        directory: Directory,
        trust: AnchoredTrust,
        sources: RevocationSources,
        clients: ClientAuthenticator,
        *,
        parser: CertificateParser,
        inspector: CertificateInspector,
        chains: ForwardedChains,
        issuer: Callable[[str], str],
        clock: Clock,
    ) -> None:
        self._directory = directory
        self._trust = trust
        self._sources = sources
        self._clients = clients
        self._parser = parser
        self._inspector = inspector
        self._chains = chains
        self._issuer = issuer
        self._clock = clock

    async def explain(
        self, realm_name: str, certificates: bytes, client_id: str | None = None
    ) -> CertificateExplanation:
        """Explain the first certificate, as verified by the proxy.

        The others complete its chain where the proxy passes them on: nginx passes the leaf alone.
        Without `client_id` its client is found by the certificate. Raises MalformedCertificate,
        RealmNotFound and StoreUnavailable.
        """
        entry = await self._directory.realm(realm_name)
        if entry is None:
            raise RealmNotFound(f"no realm {realm_name!r}")
        leaf, *others = self._inspector.split(certificates)
        passed = others if self._chains.passes_chain else []
        ignored = len(others) - len(passed)
        found = CertificateExplanation(realm_name, lookup=self._chains.name, ignored=ignored)
        try:
            chain = self._chains.limit_chain(leaf, passed)
            presented = self._parser.parse_certificate(leaf)
            found = replace(found, leaf=presented, key=self._inspector.describe_key(leaf))
        except MalformedCertificate as error:
            return replace(found, failed=Step.CERTIFICATE, reason=str(error))
        evidence = CertificateEvidence(presented, ProxyVerdict.VERIFIED, "explanation", chain=chain)
        return await self._judged(found, entry, evidence, client_id)

    async def _judged(
        self,
        found: CertificateExplanation,
        entry: RealmEntry,
        evidence: CertificateEvidence,
        client_id: str | None,
    ) -> CertificateExplanation:
        realm, now = entry.realm, self._clock.now()
        client = None if client_id is None else await self._directory.client(realm.id, client_id)
        owner = None if client is None else client.client.id
        result = await self._trust.find_path(evidence, realm, now, client=owner)
        certificate = await self._trust.evaluate(evidence, realm, now, client=owner)
        found = replace(found, path=result.path)
        if result.path is not None and result.path.holds_at(now):
            found = replace(found, revocation=await self._revocation(result.path, realm, now))
        named = {} if client_id is None else {"client_id": client_id}
        request = ProtocolRequest(
            realm=entry,
            issuer=self._issuer(realm.name),
            parameters=Parameters({"grant_type": GRANT_TYPE, **named}),
            authorization=None,
            certificate=await self._trust.evaluate(evidence, realm, now),
            remote_address="",
            secure=True,
            now=now,
        )
        try:
            caller = await self._clients.authenticate(request)
        except OAuthError as error:
            reason = error.reason or ""
            if client_id is None and not certificate.identifies:
                # The endpoint begins with the missing name, which is no mistake here.
                reason = f"the client certificate is not trusted: {certificate.reason}"
            by_trust = certificate.reason is not None and reason.endswith(certificate.reason)
            step = _failed(result, certificate, now) if by_trust else Step.CLIENT
            return replace(found, failed=step, reason=reason, note=_hint(certificate.reason or ""))
        return _with_token(found, request, caller)

    async def _revocation(
        self, path: CertificationPath, realm: Realm, now: datetime
    ) -> tuple[RevocationFinding, ...]:
        """Ask the sources in the order of requests, until a source refuses."""
        settings, sources = realm.certificates.revocation, self._sources
        realm_lists = sources.realm_lists if settings.list_urls else None
        points = sources.points if settings.follows_points else None
        asked: Sequence[tuple[str, Revocations | None, ListedRevocations | None]] = (
            ("deny list", sources.deny_lists, None),
            ("revocation list", sources.lists, sources.lists),
            ("list of the realm", realm_lists, realm_lists),
            ("distribution point", points, points),
            ("OCSP", sources.ocsp if settings.ocsp is not OcspPolicy.OFF else None, None),
        )
        findings: list[RevocationFinding] = []
        for name, source, known in asked:
            refused = any(each.state is RevocationState.REFUSED for each in findings)
            if source is None or refused:
                findings.append(RevocationFinding(name, RevocationState.NOT_ASKED))
                continue
            reason = await source.refusal(path, realm, now)
            lists = () if known is None else tuple(known.covering(path, realm))
            if reason is not None:
                state = RevocationState.REFUSED
            elif known is not None and not lists:
                state = RevocationState.NO_LIST
            else:
                state = RevocationState.GOOD
            findings.append(RevocationFinding(name, state, reason, lists))
        return tuple(findings)


def _hint(reason: str) -> str | None:
    """Return what to do about a certificate that is not trusted; None where the reason says it."""
    return next((hint for pattern, hint in _HINTS if pattern.fullmatch(reason)), None)


def _failed(result: PathResult, certificate: ClientCertificate, now: datetime) -> Step:
    """Return the check that a certificate has failed which does not identify."""
    if result.refusal is not None or certificate.trust_level is TrustLevel.UNTRUSTED:
        return Step.PATH
    held = result.path or CertificationPath.of(certificate.leaf)
    return Step.REVOCATION if held.holds_at(now) else Step.VALIDITY


def _with_token(
    found: CertificateExplanation, request: ProtocolRequest, caller: AuthenticatedClient
) -> CertificateExplanation:
    client = caller.entry.client
    if not client.public_client:
        device = client.devices.device_of(request.certificate)
        found = replace(found, match=MatchedRule(client, device))
        if not client.service_accounts_enabled:
            return replace(found, note=_NO_ACCOUNT)
    try:
        entry = check_caller(request, caller, EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST, scopes=("",))
        return replace(found, token=preview_access_token(request, replace(caller, entry=entry)))
    except OAuthError as error:
        return replace(found, failed=Step.TOKEN, reason=error.reason)
