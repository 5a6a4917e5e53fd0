"""Explains a certificate by the code that judges requests: trust, authentication, the token.

The request is one that no caller has sent: nothing is counted, stored or recorded, and no token is
signed. As in a request, only a trusted path leads to a question to an OCSP responder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from gateway.certificates import AnchoredTrust
from gateway.domain.certificates import (
    CertificateEvidence,
    CertificationPath,
    ClientCertificate,
    PathResult,
    ProxyVerdict,
    TrustLevel,
)
from gateway.domain.clock import Clock
from gateway.domain.errors import RealmNotFound
from gateway.domain.ports.certificates import (
    CertificateInspector,
    CertificateParser,
    ListedRevocations,
    MalformedCertificate,
    Revocations,
)
from gateway.domain.ports.directory import Directory, RealmEntry
from gateway.domain.realm import OcspPolicy, Realm, certificate_revocation_of
from gateway.protocol.certificate_explanation.explanation import (
    CertificateExplanation,
    MatchedRule,
    RevocationFinding,
    RevocationState,
    Step,
)
from gateway.protocol.client_authentication import AuthenticatedClient, ClientAuthenticator
from gateway.protocol.errors import OAuthError
from gateway.protocol.grants.client_credentials import (
    GRANT_TYPE,
    ClientCredentials,
    preview_access_token,
)
from gateway.protocol.parameters import Parameters
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest

LONGEST_INPUT: Final = 64 * 1024
"""Bytes of the certificate and of those that were sent with it."""
_LOOKUP: Final = "explanation"
_NO_ACCOUNT: Final = "the client has no service account, so it gets no token in its own name"


@dataclass(frozen=True, slots=True)
class RevocationSources:
    """What requests are checked against, in their order."""

    deny_lists: Revocations
    lists: ListedRevocations | None
    """Of the settings; None where they name none."""
    realm_lists: ListedRevocations
    points: ListedRevocations
    """The lists that certificates name."""
    ocsp: Revocations


class CertificateExplainer:
    """Explains certificates. Belongs to one event loop."""

    def __init__(
        self,
        directory: Directory,
        trust: AnchoredTrust,
        sources: RevocationSources,
        clients: ClientAuthenticator,
        *,
        parser: CertificateParser,
        inspector: CertificateInspector,
        issuer: Callable[[str], str],
        clock: Clock,
    ) -> None:
        """Take `issuer`, which returns the issuer of a realm's name."""
        self._directory = directory
        self._trust = trust
        self._sources = sources
        self._clients = clients
        self._parser = parser
        self._inspector = inspector
        self._issuer = issuer
        self._clock = clock

    async def explain(
        self, realm_name: str, certificates: bytes, client_id: str | None = None
    ) -> CertificateExplanation:
        """Explain the first certificate; the others are those that were sent with it.

        The proxy counts as having verified it. Without `client_id` the client is that of the
        certificate. Raises MalformedCertificate where there is none, RealmNotFound and
        StoreUnavailable.
        """
        entry = await self._directory.realm(realm_name)
        if entry is None:
            raise RealmNotFound(f"no realm {realm_name!r}")
        found = CertificateExplanation(realm_name)
        leaf, *chain = self._inspector.split(certificates)
        try:
            presented = self._parser.parse(leaf)
            found = replace(found, leaf=presented, key=self._inspector.describe_key(leaf))
        except MalformedCertificate as error:
            return replace(found, failed=Step.CERTIFICATE, reason=str(error))
        evidence = CertificateEvidence(
            presented, ProxyVerdict.VERIFIED, _LOOKUP, chain=tuple(chain)
        )
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
            findings = await self._revocation(result.path, realm, now)
            found = replace(found, revocation=findings)
        request = ProtocolRequest(
            realm=entry,
            issuer=self._issuer(realm.name),
            parameters=_parameters(client_id),
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
                # The endpoint would only say that the request names no client.
                reason = f"the client certificate is not trusted: {certificate.reason}"
            by_trust = certificate.reason is not None and reason.endswith(certificate.reason)
            step = _failed(result, certificate, now) if by_trust else Step.CLIENT
            return replace(found, failed=step, reason=reason)
        return _with_token(found, request, caller)

    async def _revocation(
        self, path: CertificationPath, realm: Realm, now: datetime
    ) -> tuple[RevocationFinding, ...]:
        """Ask the sources in the order of requests, none after one that refuses."""
        settings, sources = certificate_revocation_of(realm), self._sources
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


def _parameters(client_id: str | None) -> Parameters:
    named = {} if client_id is None else {"client_id": client_id}
    return Parameters({"grant_type": GRANT_TYPE, **named})


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
        kind = ClientCredentials.policy_event
        entry = check_caller(request, caller, kind, scopes=("",))
        token = preview_access_token(request, replace(caller, entry=entry))
        return replace(found, token=token)
    except OAuthError as error:
        return replace(found, failed=Step.TOKEN, reason=error.reason)
