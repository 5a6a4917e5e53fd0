"""The caller of the admin API: the bearer of an access token of the realm that is its issuer.

Keycloak: 9 (401 without WWW-Authenticate); Spec: RFC 6750 §2.1, RFC 8705 §3, RFC 9449 §7
"""

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from gateway.domain.callers import Caller
from gateway.domain.errors import InvalidToken
from gateway.domain.ports.lookups import CurrentRevocations, RealmEntry
from gateway.domain.refusals import NotAuthenticated
from gateway.http.exchange import Exchange
from gateway.http.realm_endpoint import LONGEST_REALM_NAME, RealmContext
from gateway.protocol.claims.protocol_claims import revocable_ids
from gateway.protocol.errors import OAuthError, ProofRefused
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.sender_constraint import SenderConstraint, token_credential
from gateway.protocol.tokens import AccessTokens, ActiveToken, administering_caller


class AdminAuthentication:
    """Finds the caller of a request by its token.

    User, client and roles come from memory, which is current once the token's revocation is known:
    the same query brings the changes that other gateways have committed.
    """

    def __init__(
        self,
        context: RealmContext,
        access_tokens: AccessTokens,
        constraint: SenderConstraint,
        revocations: CurrentRevocations,
    ) -> None:
        self._context = context
        self._issuers = context.issuer("")
        self._access_tokens = access_tokens
        self._constraint = constraint
        self._revocations = revocations

    async def caller(self, exchange: Exchange) -> Caller:
        """Return the caller.

        Raises NotAuthenticated, ProofRefused, OriginRefused or StoreUnavailable.
        """
        credential = token_credential(exchange.facts.headers.text(b"authorization"))
        if credential is None:
            raise NotAuthenticated("no bearer token")
        issuer = _claimed_issuer(credential.token)
        try:
            request, active = await self._active(exchange, issuer, credential.token)
            client = active.client.client
            await self._constraint.require(request, client, active.claims, credential)
        except ProofRefused:
            raise
        except (InvalidToken, OAuthError) as error:
            raise NotAuthenticated(str(error)) from error
        exchange.page.require(active.client.client.allowed_origins)
        exchange.log.client = active.client.client.client_id
        exchange.log.token_id = str(active.claims["jti"])
        exchange.log.user = active.user.user.id
        return administering_caller(request.realm, active)

    async def _active(
        self, exchange: Exchange, issuer: str, token: str
    ) -> tuple[ProtocolRequest, ActiveToken]:
        entry = await self._issuer(issuer)
        request, claims = await self._verified(entry, exchange, token)
        if await self._revocations.is_revoked(entry.realm.id, *revocable_ids(claims)):
            raise InvalidToken("it was revoked")
        current = await self._issuer(issuer)
        if current is not entry:  # by a change that came with the answer
            request, claims = await self._verified(current, exchange, token)
        return request, await self._access_tokens.resolve(request, claims)

    async def _verified(
        self, entry: RealmEntry, exchange: Exchange, token: str
    ) -> tuple[ProtocolRequest, Mapping[str, Any]]:
        request = await self._context.request(entry, exchange.facts, Parameters())
        return request, self._access_tokens.verify_token(request, token)

    async def _issuer(self, issuer: str) -> RealmEntry:
        base = self._issuers
        name = unquote(issuer.removeprefix(base)) if issuer.startswith(base) else ""
        is_name = 0 < len(name) <= LONGEST_REALM_NAME
        entry = await self._context.directory.realm(name) if is_name else None
        if entry is None or not entry.realm.enabled:
            raise NotAuthenticated("the issuer of the token is not an enabled realm")
        return entry


def _claimed_issuer(token: str) -> str:
    """Return the issuer that a token names; nothing of it is verified yet."""
    try:
        segment = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
        return str(claims["iss"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise NotAuthenticated("not a JWT with an issuer") from error
