"""Access tokens at protected sites, with the certificate or DPoP proof of bound ones."""

import base64
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import unquote

from gateway.domain.clock import Clock
from gateway.domain.errors import InvalidToken
from gateway.domain.forward_auth import (
    AcceptedCredential,
    Allowed,
    AssertedIdentity,
    ProofChallenge,
    Reason,
    Site,
)
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.lookups import RealmEntry
from gateway.forward_auth.callers import (
    CredentialRefused,
    Evidence,
    LiveAccounts,
    current_rights,
    user_identity,
)
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.claims.protocol_claims import audiences_of, only_for, revocable_ids
from gateway.protocol.errors import OAuthError, ProofRefused
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.scopes import resolve_claims, still_granted
from gateway.protocol.sender_constraint import SenderConstraint, TokenCredential, token_credential
from gateway.protocol.tokens import AccessTokens, ActiveToken

WARNING_PAUSE: Final = timedelta(hours=1)
_WARNED_BYTES: Final = 256 * 1024


class AudienceWarnings:
    """Warns of older sites without `bearerAudience`, once an hour and worker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._warned_at: SizedCache[tuple[str, str], datetime] = SizedCache(_WARNED_BYTES)

    def warning(self, decision: Allowed) -> dict[str, Any] | None:
        """Return the fields of the warning; None where the audience was checked."""
        identity, site = decision.identity, decision.site
        if site.bearer_audience is not None or identity is None:
            return None
        if identity.kind is not AcceptedCredential.BEARER or decision.rule.audiences:
            return None
        now, key = self._clock.now(), (site.realms[0], site.name)
        before = self._warned_at.get(key)
        if before is not None and before <= now < before + WARNING_PAUSE:
            return None
        self._warned_at.put(key, now)
        return {
            "realm": identity.realm,
            "site": site.name,
            "rule": decision.rule.name,
            "client": identity.client_id,
            "audiences": sorted(identity.audiences)[:5],
            "remedy": "bearerAudience of the site, or audiences of the rule",
        }


LONGEST_TOKEN: Final = 16 * 1024
"""Characters; a longer token is refused unread."""


class BearerTokens:
    """Identifies bearers of access tokens. RFC 6750 §2.1, RFC 8705 §3, RFC 9449 §7; attacks: B8."""

    def __init__(
        self,
        accounts: LiveAccounts,
        tokens: AccessTokens,
        constraint: SenderConstraint,
        issuer: Callable[[str], str],
    ) -> None:
        self._accounts = accounts
        self._tokens = tokens
        self._constraint = constraint
        self._issuer = issuer

    async def identify(self, site: Site, evidence: Evidence) -> AssertedIdentity:
        """Return the identity; raises CredentialRefused or StoreUnavailable."""
        credential = presented_token(evidence.authorization)
        name = self._realm_name(credential.token)
        if name not in site.realms:
            raise _invalid("its issuer is none of the site's realms", Reason.REALM_NOT_ALLOWED)
        try:
            request, active = await self._active(name, credential.token, evidence)
        except InvalidToken as error:
            raise _invalid(str(error)) from error
        try:
            await self._constraint.require(request, active.client.client, active.claims, credential)
        except ProofRefused as error:
            raise _unproved(error) from error
        except OAuthError as error:
            raise _invalid(str(error.description), Reason.CERTIFICATE_MISMATCH) from error
        return _identity(request, active)

    async def _active(
        self, name: str, token: str, evidence: Evidence
    ) -> tuple[ProtocolRequest, ActiveToken]:
        """Return the token of the realm; its revocation brings the changes of other gateways."""
        entry = await self._realm(name)
        claims = self._tokens.verify_token(await self._request(entry, evidence), token)
        if await self._accounts.revocations.is_revoked(entry.realm.id, *revocable_ids(claims)):
            raise InvalidToken("it was revoked")
        current = await self._realm(name)
        self._accounts.require_open(current.realm, evidence)
        request = await self._request(current, evidence)
        if current is not entry:  # by a change that came with the answer
            claims = self._tokens.verify_token(request, token)
        return request, await self._tokens.resolve(request, claims)

    async def _realm(self, name: str) -> RealmEntry:
        entry = await self._accounts.directory.realm(name)
        if entry is None:
            raise InvalidToken("its realm does not exist")
        return entry

    async def _request(self, entry: RealmEntry, evidence: Evidence) -> ProtocolRequest:
        return ProtocolRequest(
            realm=entry,
            issuer=self._issuer(entry.realm.name),
            parameters=Parameters(),
            authorization=None,
            certificate=await self._accounts.certificate(evidence, entry.realm),
            remote_address=evidence.remote_address,
            secure=evidence.secure,
            now=self._accounts.clock.now(),
            proof=evidence.proof,
        )

    def _realm_name(self, token: str) -> str:
        base, issuer = self._issuer(""), _claimed_issuer(token)
        return unquote(issuer.removeprefix(base)) if issuer.startswith(base) else ""


def presented_token(authorization: str | None) -> TokenCredential:
    """Return the token of the header; raises CredentialRefused for another scheme."""
    found = token_credential(authorization)
    if found is None:
        raise _invalid("the Authorization header has no bearer token")
    if len(found.token) > LONGEST_TOKEN:
        raise _invalid(f"it is longer than {LONGEST_TOKEN} characters")
    return found


def _identity(request: ProtocolRequest, active: ActiveToken) -> AssertedIdentity:
    claims, user = active.claims, active.user
    scopes = str(claims.get("scope", "")).split()
    rights = current_rights(request.realm, active.client, user, scopes)
    if not active.context.lightweight:
        rights = rights.within_token(claims)
    return user_identity(
        AcceptedCredential.BEARER,
        request.realm,
        active.client,
        user,
        rights,
        session_id=active.session.id if active.session else None,
        certificate=request.certificate,
        thumbprint=_bound_to(claims, "x5t#S256"),
        proof_key=_bound_to(claims, "jkt"),
        audiences=_audiences(request, active),
    )


def _bound_to(claims: Mapping[str, Any], name: str) -> str | None:
    """Return a member of `cnf`; the constraint has found that it is an object."""
    found = (claims.get("cnf") or {}).get(name)
    return None if found is None else str(found)


def _audiences(request: ProtocolRequest, active: ActiveToken) -> frozenset[str]:
    """Return the `aud`; a lightweight token has in addition what introspection adds."""
    stated = audiences_of(active.claims)
    if not active.context.lightweight:
        return frozenset(stated)
    names = str(active.claims.get("scope", "")).split()
    granted = still_granted(request.realm, active.client.client, names)
    context = resolve_claims(active.client, active.user, granted, session=active.session)
    wanted = only_for(active.claims)
    mapped = context.map_claims(ClaimsFor.INTROSPECTION).audiences
    return frozenset((*stated, *(name for name in mapped if wanted is None or name in wanted)))


def _claimed_issuer(token: str) -> str:
    """Return the issuer that a token names; nothing of it is verified yet."""
    try:
        segment = token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))["iss"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise _invalid("it is no JWT with an issuer") from error


def _unproved(error: ProofRefused) -> CredentialRefused:
    text = f"the token is refused: {error.description}"
    challenge = ProofChallenge(error.error, error.description or "", error.nonce)
    return CredentialRefused(Reason.PROOF_MISMATCH, text, proof=challenge)


def _invalid(explanation: str, reason: Reason = Reason.INVALID_TOKEN) -> CredentialRefused:
    return CredentialRefused(reason, f"the token is refused: {explanation}")
