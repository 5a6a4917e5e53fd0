"""Bearer tokens: access tokens of the site's realms, with their certificate where they are bound.

Spec: RFC 6750 §2.1, RFC 8705 §3; attacks: B8
"""

import base64
import json
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote

from gateway.domain.errors import InvalidToken
from gateway.domain.forward_auth import Credential, Identity, Reason, Site
from gateway.domain.ports.directory import RealmEntry
from gateway.forward_auth.credentials.rights import current_rights
from gateway.forward_auth.credentials.user_identity import user_identity
from gateway.forward_auth.evidence import Evidence
from gateway.forward_auth.live_accounts import LiveAccounts
from gateway.forward_auth.refusal import CredentialRefused
from gateway.protocol.certificate_binding import require_binding
from gateway.protocol.errors import OAuthError
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.tokens import AccessTokens, ActiveToken

LONGEST_TOKEN: Final = 16 * 1024
"""Characters; a longer token is refused unread."""
_PARTS: Final = 2


class BearerTokens:
    """Identifies the bearer of an access token."""

    def __init__(
        self, accounts: LiveAccounts, tokens: AccessTokens, issuer: Callable[[str], str]
    ) -> None:
        """Take `issuer`, which returns the issuer of the realm of a name."""
        self._accounts = accounts
        self._tokens = tokens
        self._issuer = issuer

    async def identify(self, site: Site, evidence: Evidence) -> Identity:
        """Return the identity; raises CredentialRefused or StoreUnavailable."""
        token = bearer_token(evidence.authorization or "")
        name = self._realm_name(token)
        if name not in site.realms:
            raise _invalid("its issuer is none of the site's realms", Reason.REALM_NOT_ALLOWED)
        try:
            request, active = await self._active(name, token, evidence)
            await self._require_unlocked(request, active)
        except InvalidToken as error:
            raise _invalid(str(error)) from error
        try:
            require_binding(active.claims, request.certificate)
        except OAuthError as error:
            raise _invalid(str(error.description), Reason.CERTIFICATE_MISMATCH) from error
        return _identity(request, active)

    async def _active(
        self, name: str, token: str, evidence: Evidence
    ) -> tuple[ProtocolRequest, ActiveToken]:
        """Return the token of the realm; its revocation brings the changes of other gateways."""
        entry = await self._realm(name)
        claims = self._tokens.verify(await self._request(entry, evidence), token)
        if await self._accounts.revocations.is_revoked(entry.realm.id, str(claims["jti"])):
            raise InvalidToken("it was revoked")
        current = await self._realm(name)
        self._accounts.require_open(current.realm, evidence)
        request = await self._request(current, evidence)
        if current is not entry:  # by a change that came with the answer
            claims = self._tokens.verify(request, token)
        return request, await self._tokens.resolve(request, claims)

    async def _require_unlocked(self, request: ProtocolRequest, active: ActiveToken) -> None:
        if await self._accounts.is_locked(request.realm.realm, active.user.user):
            raise InvalidToken("its user is locked out")

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
        )

    def _realm_name(self, token: str) -> str:
        base, issuer = self._issuer(""), _claimed_issuer(token)
        return unquote(issuer.removeprefix(base)) if issuer.startswith(base) else ""


def bearer_token(authorization: str) -> str:
    """Return the token of the header; raises CredentialRefused for another scheme."""
    parts = authorization.split()
    if len(parts) != _PARTS or parts[0].lower() != "bearer":
        raise _invalid("the Authorization header has no bearer token")
    if len(parts[1]) > LONGEST_TOKEN:
        raise _invalid(f"it is longer than {LONGEST_TOKEN} characters")
    return parts[1]


def _identity(request: ProtocolRequest, active: ActiveToken) -> Identity:
    claims, user = active.claims, active.user
    scopes = str(claims.get("scope", "")).split()
    rights = current_rights(request.realm, active.client, user, scopes)
    if not active.context.lightweight:
        rights = rights.within_token(claims)
    return user_identity(
        Credential.BEARER,
        request.realm,
        active.client,
        user,
        rights,
        session_id=active.session.id if active.session else None,
        certificate=request.certificate,
        thumbprint=_bound_to(claims.get("cnf")),
    )


def _bound_to(confirmation: Any) -> str | None:
    return None if confirmation is None else str(confirmation["x5t#S256"])


def _claimed_issuer(token: str) -> str:
    """Return the issuer that a token names; nothing of it is verified yet."""
    try:
        segment = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
        return str(claims["iss"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise _invalid("it is no JWT with an issuer") from error


def _invalid(explanation: str, reason: Reason = Reason.INVALID_TOKEN) -> CredentialRefused:
    return CredentialRefused(reason, f"the token is refused: {explanation}")
