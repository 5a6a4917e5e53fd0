"""Decisions about the requests that a proxy asks about, and the requirements of their rules."""

import hashlib
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.certificate_names import CertificateName
from gateway.domain.certificates import PresentedCertificate
from gateway.domain.clock import Clock
from gateway.domain.forward_auth import (
    AcceptedCredential,
    Allowed,
    AssertedIdentity,
    Decision,
    ForbiddenRequest,
    OriginalRequest,
    Reason,
    Requirements,
    Rule,
    Site,
    Unauthenticated,
    cookie_name,
    cookie_scope,
    target_of,
)
from gateway.domain.groups import is_at_or_below
from gateway.domain.hosts import AmbiguousTarget, proxy_server
from gateway.domain.limits.caches import SizedCache
from gateway.forward_auth.bearer_tokens import BearerTokens
from gateway.forward_auth.callers import CredentialRefused, Evidence
from gateway.forward_auth.client_certificates import CertificateHolders
from gateway.forward_auth.session_cookies import SessionCookies
from gateway.forward_auth.site_table import Sites, SiteTable, UnknownServer

INVALID_TOKEN: Final = "invalid_token"  # noqa: S105 - an error code
INSUFFICIENT_SCOPE: Final = "insufficient_scope"
"""Error codes of RFC 6750 §3.1."""
_ACCOUNT: Final = "account"
"""A client of every realm, in the `aud` of every account that has the default roles."""
_SHOWN_AUDIENCES: Final = 5
_HAS_NAME: Final[SizedCache[tuple[str, bytes], tuple[bool]]] = SizedCache(512 * 1024)
"""Whether a certificate has a name, by the name and the certificate's digest."""


def decide_for_caller(site: Site, rule: Rule, identity: AssertedIdentity) -> Decision:
    """Return the decision about a known caller; the rule is not anonymous."""
    if identity.kind not in rule.accepts:
        return Unauthenticated(
            Reason.CREDENTIAL_NOT_ACCEPTED,
            f"the rule {rule.name} does not accept the credential {identity.kind}",
            site,
            rule,
            may_sign_in=AcceptedCredential.SESSION in rule.accepts and site.client is not None,
            error=INVALID_TOKEN if identity.kind is AcceptedCredential.BEARER else None,
        )
    if rule.bound_only and identity.kind is AcceptedCredential.BEARER and not _is_bound(identity):
        reason = Reason.TOKEN_NOT_BOUND
        text = f"the rule {rule.name} requires a token that is bound to a certificate or a DPoP key"
        return Unauthenticated(reason, text, site, rule, error=INVALID_TOKEN)
    if identity.kind is AcceptedCredential.BEARER:
        foreign = _foreign_audience(site, rule, identity)
        if foreign is not None:
            reason = Reason.AUDIENCE_NOT_ALLOWED
            return Unauthenticated(reason, foreign, site, rule, error=INVALID_TOKEN)
    missing = _missing(rule.requirements, identity)
    if missing is None:
        text = f"the rule {rule.name} allows {identity.username or identity.subject}"
        return Allowed(site, rule, identity, text)
    reason, names = missing
    error = INSUFFICIENT_SCOPE if identity.kind is AcceptedCredential.BEARER else None
    text = f"the rule {rule.name} requires one of: {', '.join(names)}"
    return ForbiddenRequest(reason, text, site, rule, identity, error)


def _foreign_audience(site: Site, rule: Rule, identity: AssertedIdentity) -> str | None:
    """Return the reason why the token is not for the site; None where it is.

    `azp` is no audience: a client may narrow its own token. Spec: RFC 9068 §4, RFC 8725 §3.9
    """
    expected = site.token_audiences(rule)
    if expected is None or not identity.audiences.isdisjoint(expected):
        return None
    if not rule.audiences and _is_for_no_other_service(rule, identity):
        return None
    if not expected:
        return (
            f"no token is for the site {site.name}: it has no client, and the rule {rule.name}"
            " no audiences"
        )
    named = sorted(identity.audiences)
    shown = ", ".join(f"{name:.80}" for name in named[:_SHOWN_AUDIENCES]) or "none"
    more = f" and {len(named) - _SHOWN_AUDIENCES} more" if len(named) > _SHOWN_AUDIENCES else ""
    return (
        f"the rule {rule.name} requires a token with one of these audiences:"
        f" {', '.join(expected)}; the token's aud is: {shown}{more}"
    )


def _is_for_no_other_service(rule: Rule, identity: AssertedIdentity) -> bool:
    """Return whether a bound token names no service, and the rule names the token's client.

    The client itself and the account client are no services.
    """
    client = identity.client_id
    names_none = identity.audiences <= {client, _ACCOUNT}
    return names_none and client in rule.requirements.clients and _is_bound(identity)


def _is_bound(identity: AssertedIdentity) -> bool:
    return identity.thumbprint is not None or identity.proof_key is not None


def _missing(
    requirements: Requirements, identity: AssertedIdentity
) -> tuple[Reason, tuple[str, ...]] | None:
    for reason, names, has in _kinds(requirements):
        if names and not has(names, identity):
            return reason, names
    return None


def _kinds(
    required: Requirements,
) -> Iterable[tuple[Reason, tuple[str, ...], Callable[[tuple[str, ...], AssertedIdentity], bool]]]:
    return (
        (Reason.CLIENT_NOT_ALLOWED, required.clients, _has_client),
        (Reason.CERTIFICATE_NOT_ALLOWED, required.certificates, _has_certificate),
        (Reason.MISSING_SCOPE, required.scopes, _has_scope),
        (Reason.MISSING_REALM_ROLE, required.realm_roles, _has_realm_role),
        (Reason.MISSING_CLIENT_ROLE, required.client_roles, _has_client_role),
        (Reason.MISSING_GROUP, required.groups, _has_group),
    )


def _has_client(names: tuple[str, ...], identity: AssertedIdentity) -> bool:
    return identity.client_id in names


def _has_scope(names: tuple[str, ...], identity: AssertedIdentity) -> bool:
    return not identity.scopes.isdisjoint(names)


def _has_realm_role(names: tuple[str, ...], identity: AssertedIdentity) -> bool:
    return not identity.realm_roles.isdisjoint(names)


def _has_client_role(names: tuple[str, ...], identity: AssertedIdentity) -> bool:
    return not identity.client_roles.isdisjoint(names)


def _has_group(paths: tuple[str, ...], identity: AssertedIdentity) -> bool:
    return any(is_at_or_below(group, path) for path in paths for group in identity.groups)


def _has_certificate(names: tuple[str, ...], identity: AssertedIdentity) -> bool:
    certificate = identity.certificate
    return certificate is not None and any(_has_name(name, certificate.leaf) for name in names)


def _has_name(name: str, leaf: PresentedCertificate) -> bool:
    known = _HAS_NAME.get((name, leaf.digest))
    if known is None:
        known = (CertificateName.parse_name(name).matches(leaf),)
        _HAS_NAME.put((name, leaf.digest), known)
    return known[0]


IDENTITY_AGE: Final = timedelta(milliseconds=500)
_CACHED_IDENTITY_BYTES: Final = 16 * 1024 * 1024
"""Memory of a worker for identities: about five thousand."""


@dataclass(slots=True)
class _CachedIdentity:
    """An identity and when it was verified last."""

    identity: AssertedIdentity
    since: datetime


class Decisions:
    """Answers for every protected site.

    The rule is found before any credential is verified. Exactly one credential decides: the
    Authorization header, else the session cookie, else the certificate; an invalid one is never
    skipped for another. Identities are kept for `IDENTITY_AGE`. attacks: B1, B3, B8
    """

    def __init__(
        self,
        sites: Sites,
        tokens: BearerTokens,
        sessions: SessionCookies,
        certificates: CertificateHolders,
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
        self._identities: SizedCache[Hashable, _CachedIdentity] = SizedCache(_CACHED_IDENTITY_BYTES)

    async def decide(self, original: OriginalRequest, evidence: Evidence) -> Decision:
        """Return the decision; raises StoreUnavailable."""
        for name in evidence.unremovable:
            if name not in self._passed_headers:
                explanation = f"the header {name!a:.100} could pass for one of the gateway"
                return ForbiddenRequest(Reason.AMBIGUOUS_REQUEST, explanation)
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
                error=INVALID_TOKEN if credential is AcceptedCredential.BEARER else None,
                proof=refusal.proof,
            )
        return decide_for_caller(site, rule, identity)

    async def _identity(
        self, credential: AcceptedCredential, site: Site, rule: Rule, evidence: Evidence
    ) -> AssertedIdentity:
        """Return the identity, at most IDENTITY_AGE old; with a DPoP proof it is never kept."""
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
            self._identities.put(key, _CachedIdentity(identity, now))
        return identity

    async def _verified(
        self, credential: AcceptedCredential, site: Site, rule: Rule, evidence: Evidence
    ) -> AssertedIdentity:
        match credential:
            case AcceptedCredential.BEARER:
                identity = await self._tokens.identify(site, evidence)
            case AcceptedCredential.SESSION:
                identity = await self._sessions.identify(site, evidence)
            case AcceptedCredential.CERTIFICATE:
                return await self._certificates.identify(site, rule, evidence)
        return await self._certificates.without_refused(site, evidence, identity)


def find_rule(
    table: SiteTable, original: OriginalRequest
) -> Allowed | ForbiddenRequest | tuple[Site, Rule]:
    """Return the site and the rule that decide, or the decision where it needs no credential."""
    try:
        target = target_of(original)
        named = original.server
        server = None if named is None else proxy_server(named, original.scheme)
    except AmbiguousTarget as refusal:
        return ForbiddenRequest(Reason.AMBIGUOUS_REQUEST, f"the request is ambiguous: {refusal}")
    try:
        found = table.find_site(target.host, server, target.scheme)
    except UnknownServer as refusal:
        return ForbiddenRequest(
            Reason.UNKNOWN_HOST, str(refusal), is_unclaimed=refusal.is_unclaimed
        )
    site, rule = found.site, found.find_rule(target)
    if rule is None:
        return ForbiddenRequest(Reason.NO_RULE, f"no rule of {site.name} matches the request", site)
    if rule.anonymous:
        return Allowed(site, rule, None, f"the rule {rule.name} lets every caller pass")
    return site, rule


def _deciding_credential(site: Site, rule: Rule, evidence: Evidence) -> AcceptedCredential | None:
    """Return the Authorization header, else the cookie or certificate that the rule chooses."""
    if evidence.authorization is not None:
        return AcceptedCredential.BEARER
    if AcceptedCredential.SESSION in rule.accepts and _has_session_cookie(site, evidence):
        return AcceptedCredential.SESSION
    if AcceptedCredential.CERTIFICATE in rule.accepts and evidence.certificate is not None:
        return AcceptedCredential.CERTIFICATE
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
    return site.client is not None and AcceptedCredential.SESSION in rule.accepts


def _has_session_cookie(site: Site, evidence: Evidence) -> bool:
    expected = cookie_name(site)
    return any(name == expected for name, _ in evidence.session_cookies)


def _key(credential: AcceptedCredential, site: Site, rule: Rule, evidence: Evidence) -> Hashable:
    """Return everything that an identity depends on; credentials as digests."""
    presented = evidence.certificate
    certificate = None if presented is None else (presented.leaf.digest, presented.verdict)
    address = None if evidence.secure else evidence.remote_address
    connection = (credential, address, certificate, site.realms)
    match credential:
        case AcceptedCredential.BEARER:
            secret = evidence.authorization or ""
            return (*connection, _digest(secret))
        case AcceptedCredential.SESSION:
            secret = " ".join(f"{name}={value}" for name, value in evidence.session_cookies)
            return (*connection, cookie_scope(site), site.client, _digest(secret))
        case AcceptedCredential.CERTIFICATE:
            return (*connection, rule.requirements.clients)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
