"""Claims of tokens that are not issued, for administrators. Keycloak: evaluate-scopes."""

import uuid
from collections.abc import Sequence
from typing import Any

from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client
from gateway.domain.ports.lookups import RealmEntry, TokenExample
from gateway.domain.refusals import NotFound
from gateway.domain.sessions import ClientSession, UserSession
from gateway.protocol.claims.protocol_claims import audiences_of
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.scopes import resolve_claims, still_granted
from gateway.protocol.tokens import Issue, SessionPart, access_claims, id_claims
from gateway.protocol.userinfo import userinfo_document


class ClaimsPreview:
    """The `TokenPreview` of the token endpoint."""

    def scopes(self, realm: RealmEntry, client: Client, scope: str) -> Sequence[ClientScope]:
        granted = still_granted(realm, client, scope.split())
        return [bound.scope for bound in granted.chosen.scopes]

    def access_token(self, example: TokenExample) -> dict[str, Any]:
        request, issue = _issue_example(example)
        claims = access_claims(request, issue, None).document
        if example.audience is None:
            return claims
        if example.audience not in audiences_of(claims):
            raise NotFound(f"Requested audience not available: {example.audience}")
        return {**claims, "aud": example.audience}

    def id_token(self, example: TokenExample) -> dict[str, Any]:
        request, issue = _issue_example(example)
        return id_claims(request, issue, access_claims(request, issue, None).protocol)

    def userinfo(self, example: TokenExample) -> dict[str, Any]:
        return userinfo_document(_issue_example(example)[1].context)


def _issue_example(example: TokenExample) -> tuple[ProtocolRequest, Issue]:
    session = _session(example)
    request = ProtocolRequest(
        realm=example.realm,
        issuer=example.issuer,
        parameters=Parameters(),
        authorization=None,
        certificate=None,
        remote_address="",
        secure=True,
        now=example.now,
    )
    granted = still_granted(example.realm, example.client.client, example.scope.split())
    context = resolve_claims(example.client, example.user, granted, session=session.session)
    return request, Issue(context, "na", session)


def _session(example: TokenExample) -> SessionPart:
    client, now = example.client.client, example.now
    of_client = ClientSession(client.id, now, now)
    session = UserSession(
        id=str(uuid.uuid4()),
        realm_id=example.realm.realm.id,
        user_id=example.user.user.id,
        username="",
        ip_address="",
        started_at=now,
        refreshed_at=now,
        clients={client.id: of_client},
    )
    return SessionPart(session, of_client, refresh_id="", is_stored=False)
