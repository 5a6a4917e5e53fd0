"""Whether an identity has what a rule requires: one of each kind that the rule names."""

from collections.abc import Callable, Iterable
from typing import Final

from gateway.domain.certificates import PresentedCertificate
from gateway.domain.forward_auth import (
    Allowed,
    CertificateName,
    Credential,
    Decision,
    Forbidden,
    Identity,
    Reason,
    Requirements,
    Rule,
    Site,
    Unauthenticated,
)
from gateway.domain.groups import is_at_or_below
from gateway.domain.limits.caches import SizedCache

INVALID_TOKEN: Final = "invalid_token"  # noqa: S105 - an error code
INSUFFICIENT_SCOPE: Final = "insufficient_scope"
"""Error codes of RFC 6750 §3.1."""
_ACCOUNT: Final = "account"
"""A client of every realm, in the `aud` of every account that has the default roles."""
_SHOWN_AUDIENCES: Final = 5
_HAS_NAME: Final[SizedCache[tuple[str, bytes], tuple[bool]]] = SizedCache(512 * 1024)
"""Whether a certificate has a name, by the name and the certificate's digest."""


def judge(site: Site, rule: Rule, identity: Identity) -> Decision:
    """Return the decision about a known caller; the rule is not anonymous."""
    if identity.kind not in rule.accepts:
        return Unauthenticated(
            Reason.CREDENTIAL_NOT_ACCEPTED,
            f"the rule {rule.name} does not accept the credential {identity.kind}",
            site,
            rule,
            may_sign_in=Credential.SESSION in rule.accepts and site.client is not None,
            error=INVALID_TOKEN if identity.kind is Credential.BEARER else None,
        )
    if rule.bound_only and identity.kind is Credential.BEARER and not _is_bound(identity):
        reason = Reason.TOKEN_NOT_BOUND
        text = f"the rule {rule.name} requires a token that is bound to a certificate or a DPoP key"
        return Unauthenticated(reason, text, site, rule, error=INVALID_TOKEN)
    if identity.kind is Credential.BEARER:
        foreign = _foreign_audience(site, rule, identity)
        if foreign is not None:
            reason = Reason.AUDIENCE_NOT_ALLOWED
            return Unauthenticated(reason, foreign, site, rule, error=INVALID_TOKEN)
    missing = _missing(rule.requirements, identity)
    if missing is None:
        text = f"the rule {rule.name} allows {identity.username or identity.subject}"
        return Allowed(site, rule, identity, text)
    reason, names = missing
    error = INSUFFICIENT_SCOPE if identity.kind is Credential.BEARER else None
    text = f"the rule {rule.name} requires one of: {', '.join(names)}"
    return Forbidden(reason, text, site, rule, identity, error)


def _foreign_audience(site: Site, rule: Rule, identity: Identity) -> str | None:
    """Return why the token is not for the site; None where it is.

    The token's client (`azp`) is no audience: a client may narrow a token of its own to another
    service. Spec: RFC 9068 §4, RFC 8725 §3.9
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


def _is_for_no_other_service(rule: Rule, identity: Identity) -> bool:
    """Tell whether it is a bound token of a client that the rule names, and names no service.

    This is the token that a device gets with its certificate where no mapper adds an audience. No
    other service can use a token that is bound to the key of its client.
    """
    client = identity.client_id
    names_none = identity.audiences <= {client, _ACCOUNT}
    return names_none and client in rule.requirements.clients and _is_bound(identity)


def _is_bound(identity: Identity) -> bool:
    return identity.thumbprint is not None or identity.proof_key is not None


def _missing(
    requirements: Requirements, identity: Identity
) -> tuple[Reason, tuple[str, ...]] | None:
    """Return the first kind of requirement that the identity does not meet, with its names."""
    for reason, names, has in _kinds(requirements):
        if names and not has(names, identity):
            return reason, names
    return None


def _kinds(
    required: Requirements,
) -> Iterable[tuple[Reason, tuple[str, ...], Callable[[tuple[str, ...], Identity], bool]]]:
    return (
        (Reason.CLIENT_NOT_ALLOWED, required.clients, _has_client),
        (Reason.CERTIFICATE_NOT_ALLOWED, required.certificates, _has_certificate),
        (Reason.MISSING_SCOPE, required.scopes, _has_scope),
        (Reason.MISSING_REALM_ROLE, required.realm_roles, _has_realm_role),
        (Reason.MISSING_CLIENT_ROLE, required.client_roles, _has_client_role),
        (Reason.MISSING_GROUP, required.groups, _has_group),
    )


def _has_client(names: tuple[str, ...], identity: Identity) -> bool:
    return identity.client_id in names


def _has_scope(names: tuple[str, ...], identity: Identity) -> bool:
    return not identity.scopes.isdisjoint(names)


def _has_realm_role(names: tuple[str, ...], identity: Identity) -> bool:
    return not identity.realm_roles.isdisjoint(names)


def _has_client_role(names: tuple[str, ...], identity: Identity) -> bool:
    return not identity.client_roles.isdisjoint(names)


def _has_group(paths: tuple[str, ...], identity: Identity) -> bool:
    """Tell whether the caller is in one of the groups or below it."""
    return any(is_at_or_below(group, path) for path in paths for group in identity.groups)


def _has_certificate(names: tuple[str, ...], identity: Identity) -> bool:
    certificate = identity.certificate
    return certificate is not None and any(_has_name(name, certificate.leaf) for name in names)


def _has_name(name: str, leaf: PresentedCertificate) -> bool:
    known = _HAS_NAME.get((name, leaf.digest))
    if known is None:
        known = (CertificateName.parse(name).matches(leaf),)
        _HAS_NAME.put((name, leaf.digest), known)
    return known[0]
