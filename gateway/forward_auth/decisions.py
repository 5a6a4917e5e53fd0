"""Decides about the requests that a proxy asks about.

The rule is found before any credential is looked at, and a credential is verified only where the
rule asks for one. Exactly one credential decides: the Authorization header, or else the session
cookie, or else the certificate. One that was sent and is invalid is never passed over for another.
An identity is kept for `IDENTITY_AGE`; rules are evaluated at every request. attacks: B1, B3, B8
"""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.clock import Clock
from gateway.domain.forward_auth import (
    Allowed,
    AmbiguousTarget,
    Credential,
    Decision,
    Forbidden,
    Identity,
    OriginalRequest,
    Reason,
    Rule,
    Site,
    Unauthenticated,
    proxy_server,
    target_of,
)
from gateway.domain.forward_auth.site_session import cookie_name, cookie_scope
from gateway.domain.limits.caches import SizedCache
from gateway.forward_auth.credentials.bearer_token import BearerTokens
from gateway.forward_auth.credentials.client_certificate import ClientCertificates
from gateway.forward_auth.credentials.session_cookie import SessionCookies
from gateway.forward_auth.evidence import Evidence
from gateway.forward_auth.refusal import CredentialRefused
from gateway.forward_auth.requirements import INVALID_TOKEN, judge
from gateway.forward_auth.site_table import Sites, SiteTable, UnknownServer

IDENTITY_AGE: Final = timedelta(milliseconds=500)
_REMEMBERED_BYTES: Final = 16 * 1024 * 1024
"""Memory of a worker for identities: about five thousand."""


@dataclass(slots=True)
class _Remembered:
    """An identity and when it was verified last."""

    identity: Identity
    since: datetime


class Decisions:
    """Answers for every protected site."""

    def __init__(
        self,
        sites: Sites,
        tokens: BearerTokens,
        sessions: SessionCookies,
        certificates: ClientCertificates,
        clock: Clock,
        *,
        passed_headers: frozenset[str] = frozenset(),
    ) -> None:
        """Take `passed_headers`, in lower case: identity headers that callers may send."""
        self._sites = sites
        self._tokens = tokens
        self._sessions = sessions
        self._certificates = certificates
        self._clock = clock
        self._passed_headers = passed_headers
        self._identities: SizedCache[Hashable, _Remembered] = SizedCache(_REMEMBERED_BYTES)

    async def decide(self, original: OriginalRequest, evidence: Evidence) -> Decision:
        """Return the decision; raises StoreUnavailable."""
        for name in evidence.unremovable:
            if name not in self._passed_headers:
                explanation = f"the header {name!a:.100} could pass for one of the gateway"
                return Forbidden(Reason.AMBIGUOUS_REQUEST, explanation)
        found = find_rule(await self._sites.table(), original)
        if not isinstance(found, tuple):
            return found
        site, rule = found
        return await self._decide(site, rule, evidence)

    async def _decide(self, site: Site, rule: Rule, evidence: Evidence) -> Decision:
        credential = _deciding_credential(site, rule, evidence)
        if credential is None:
            return _without_credential(site, rule, evidence)
        try:
            identity = await self._identity(credential, site, rule, evidence)
        except CredentialRefused as refusal:
            return Unauthenticated(
                refusal.reason,
                str(refusal),
                site,
                rule,
                may_sign_in=_may_sign_in(site, rule),
                error=INVALID_TOKEN if credential is Credential.BEARER else None,
                proof=refusal.proof,
            )
        return judge(site, rule, identity)

    async def _identity(
        self, credential: Credential, site: Site, rule: Rule, evidence: Evidence
    ) -> Identity:
        """Return the identity as of at most IDENTITY_AGE ago; raises CredentialRefused.

        A DPoP proof is for one request, so an identity that came with one is never kept.
        """
        if evidence.proof.text is not None:
            return await self._verified(credential, site, rule, evidence)
        key, now = _key(credential, site, rule, evidence), self._clock.now()
        known = self._identities.get(key)
        if known is not None and known.since <= now < known.since + IDENTITY_AGE:
            return known.identity
        identity = await self._verified(credential, site, rule, evidence)
        if known is not None and known.identity == identity:
            # An equal identity weighs the same: to drop and to put it would weigh it twice, 40 us.
            known.identity, known.since = identity, now
        else:
            self._identities.put(key, _Remembered(identity, now))
        return identity

    async def _verified(
        self, credential: Credential, site: Site, rule: Rule, evidence: Evidence
    ) -> Identity:
        match credential:
            case Credential.BEARER:
                identity = await self._tokens.identify(site, evidence)
            case Credential.SESSION:
                identity = await self._sessions.identify(site, evidence)
            case Credential.CERTIFICATE:
                return await self._certificates.identify(site, rule, evidence)
        return await self._certificates.without_refused(site, evidence, identity)


def find_rule(
    table: SiteTable, original: OriginalRequest
) -> Allowed | Forbidden | tuple[Site, Rule]:
    """Return the site and the rule that decide, or the decision where it needs no credential."""
    try:
        target = target_of(original)
        named = original.server
        server = None if named is None else proxy_server(named, original.scheme)
    except AmbiguousTarget as refusal:
        return Forbidden(Reason.AMBIGUOUS_REQUEST, f"the request is ambiguous: {refusal}")
    try:
        found = table.find(target.host, server, target.scheme)
    except UnknownServer as refusal:
        return Forbidden(Reason.UNKNOWN_HOST, str(refusal))
    site, rule = found.site, found.find_rule(target)
    if rule is None:
        return Forbidden(Reason.NO_RULE, f"no rule of {site.name} matches the request", site)
    if rule.anonymous:
        return Allowed(site, rule, None, f"the rule {rule.name} lets every caller pass")
    return site, rule


def _deciding_credential(site: Site, rule: Rule, evidence: Evidence) -> Credential | None:
    """Return the credential that decides.

    A browser sends its cookie and its certificate by itself: the rule chooses between them. The
    Authorization header is sent on purpose, so it decides also where the rule does not accept it.
    """
    if evidence.authorization is not None:
        return Credential.BEARER
    if Credential.SESSION in rule.accepts and _has_session_cookie(site, evidence):
        return Credential.SESSION
    if Credential.CERTIFICATE in rule.accepts and evidence.certificate is not None:
        return Credential.CERTIFICATE
    return None


def _without_credential(site: Site, rule: Rule, evidence: Evidence) -> Unauthenticated:
    sent = evidence.certificate is not None or _has_session_cookie(site, evidence)
    if sent:
        reason = Reason.CREDENTIAL_NOT_ACCEPTED
        text = f"the rule {rule.name} accepts none of the credentials that were sent"
    else:
        reason, text = Reason.NO_CREDENTIAL, "no credential was sent"
    return Unauthenticated(reason, text, site, rule, may_sign_in=_may_sign_in(site, rule))


def _may_sign_in(site: Site, rule: Rule) -> bool:
    return site.client is not None and Credential.SESSION in rule.accepts


def _has_session_cookie(site: Site, evidence: Evidence) -> bool:
    expected = cookie_name(site)
    return any(name == expected for name, _ in evidence.session_cookies)


def _key(credential: Credential, site: Site, rule: Rule, evidence: Evidence) -> Hashable:
    """Return everything that an identity depends on; credentials as digests."""
    presented = evidence.certificate
    certificate = None if presented is None else (presented.leaf.digest, presented.verdict)
    address = None if evidence.secure else evidence.remote_address
    connection = (credential, address, certificate, site.realms)
    match credential:
        case Credential.BEARER:
            secret = evidence.authorization or ""
            return (*connection, _digest(secret))
        case Credential.SESSION:
            secret = " ".join(f"{name}={value}" for name, value in evidence.session_cookies)
            return (*connection, cookie_scope(site), site.client, _digest(secret))
        case Credential.CERTIFICATE:
            return (*connection, rule.requirements.clients)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
