"""What tokens of a client would say, told to administrators: nothing is issued, nothing signed.

Names of scopes that the client may not ask for count for nothing here. Keycloak: evaluate-scopes
"""

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from gateway.admin.access import Missing
from gateway.admin.clients import OF_THE_REALM, in_scope
from gateway.domain.clients import OPENID_CONNECT, Client, ProtocolMapper
from gateway.domain.ports.directory import ClientEntry, Directory, RealmEntry, UserEntry
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.sessions import ClientSession, UserSession
from gateway.protocol.claims.protocol_claims import audiences_of
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, resolve_claims, still_granted
from gateway.protocol.tokens import Issue, SessionPart, access_claims, id_claims
from gateway.protocol.userinfo import userinfo_document
from gateway.representations.roles import role_answer

_LETTERS: Final = "na"
_NO_CLIENT: Final = "Could not find client"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Which client is asked about, by its internal id, and what it would ask for."""

    realm: Realm
    client: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class ExampleOf:
    """For whom an example is made; `audience` keeps of clients and audiences one alone."""

    user_id: str | None
    issuer: str
    now: datetime
    audience: str | None = None


class ScopeEvaluation:
    """Answers what administrators ask. All methods raise Missing and StoreUnavailable."""

    def __init__(self, database: Database, directory: Directory) -> None:
        self._database = database
        self._directory = directory

    async def mappers(self, asked: Evaluated) -> list[dict[str, Any]]:
        """Return the mappers that would act, and where each is from."""
        _, entry, granted = await self._granted(asked)
        found = [
            _mapper_answer(mapper, bound.scope.id, bound.scope.name, "client-scope")
            for bound in granted.chosen.scopes
            for mapper in bound.scope.mappers
            if mapper.protocol == OPENID_CONNECT
        ]
        client = entry.client
        own = (one for one in client.protocol_mappers if one.protocol == client.protocol)
        return [*found, *(_mapper_answer(one, client.id, "", "client") for one in own)]

    async def roles(
        self, asked: Evaluated, container: str, *, granted: bool
    ) -> list[dict[str, Any]]:
        """Return the roles of the realm, or of a client, that tokens may carry, or may not.

        `container` is the realm's name or the client's internal id.
        """
        _, entry, scopes = await self._granted(asked)
        async with self._database.read() as stores:
            of_realm = container == asked.realm.name
            client = (
                None if of_realm else await stores.clients.find_by_id(asked.realm.id, container)
            )
            if client is None and not of_realm:
                raise Missing("Role Container not found")
            owner = OF_THE_REALM if client is None else client.id
            ids = [bound.scope.id for bound in scopes.chosen.scopes]
            every = await in_scope(stores, asked.realm, _unlimited(entry.client), ids, owner)
            reached = await in_scope(stores, asked.realm, entry.client, ids, owner)
        known = {role.role.id for role in reached}
        return [role_answer(role) for role in every if (role.role.id in known) is granted]

    async def access_token(self, asked: Evaluated, example: ExampleOf) -> dict[str, Any]:
        """Return what an access token would say."""
        limited = replace(example, audience=await self._audience(asked.realm, example))
        request, issue, _ = await self._issue(asked, limited)
        claims = access_claims(request, issue, None).document
        return claims if limited.audience is None else _for_audience(claims, limited.audience)

    async def id_token(self, asked: Evaluated, example: ExampleOf) -> dict[str, Any]:
        """Return what an ID token would say."""
        request, issue, part = await self._issue(asked, example)
        access = access_claims(request, issue, None).protocol
        return id_claims(request, issue, part, access)

    async def userinfo(self, asked: Evaluated, example: ExampleOf) -> dict[str, Any]:
        """Return what userinfo would say."""
        _, issue, _ = await self._issue(asked, example)
        return userinfo_document(issue.context)

    async def _issue(
        self, asked: Evaluated, example: ExampleOf
    ) -> tuple[ProtocolRequest, Issue, SessionPart]:
        realm, entry, granted = await self._granted(asked)
        user = await self._user(asked.realm, example)
        part = _part(asked.realm, user.user.id, entry.client, example.now)
        request = ProtocolRequest(
            realm=realm,
            issuer=example.issuer,
            parameters=Parameters.of(()),
            authorization=None,
            certificate=None,
            remote_address="",
            secure=True,
            now=example.now,
        )
        told = resolve_claims(
            entry, _limited(user, example.audience), granted, session=part.session
        )
        return request, Issue(told, _LETTERS, part), part

    async def _audience(self, realm: Realm, example: ExampleOf) -> str | None:
        """Return the one audience that is wanted, if it is a client of the realm."""
        if example.audience is None:
            return None
        found = await self._directory.client(realm.id, example.audience)
        return None if found is None else found.client.client_id

    async def _user(self, realm: Realm, example: ExampleOf) -> UserEntry:
        if example.user_id is None:
            raise Missing("No userId provided")
        user = await self._directory.user(realm.id, example.user_id)
        if user is None:
            raise Missing("No user found")
        return user

    async def _granted(self, asked: Evaluated) -> tuple[RealmEntry, ClientEntry, GrantedScopes]:
        async with self._database.read() as stores:
            client = await stores.clients.find_by_id(asked.realm.id, asked.client)
        realm = await self._directory.realm(asked.realm.name)
        if realm is None or client is None:
            raise Missing(_NO_CLIENT)
        entry = await self._directory.client(asked.realm.id, client.client_id)
        if entry is None:
            raise Missing(_NO_CLIENT)
        return realm, entry, still_granted(realm, entry.client, asked.scope.split())


def _part(realm: Realm, user_id: str, client: Client, now: datetime) -> SessionPart:
    """Return a session that there is not."""
    of_client = ClientSession(client.id, now, now)
    session = UserSession(
        id=str(uuid.uuid4()),
        realm_id=realm.id,
        user_id=user_id,
        username="",
        ip_address="",
        started_at=now,
        refreshed_at=now,
        clients={client.id: of_client},
    )
    return SessionPart(session, of_client, refresh_id="")


def _limited(user: UserEntry, audience: str | None) -> UserEntry:
    if audience is None:
        return user
    clients = tuple(pair for pair in user.roles.clients if pair[0] == audience)
    return replace(user, roles=replace(user.roles, clients=clients))


def _for_audience(claims: dict[str, Any], audience: str) -> dict[str, Any]:
    """Return the claims with one of their audiences alone; raises Missing where it is none."""
    if audience not in audiences_of(claims):
        raise Missing(f"Requested audience not available: {audience}")
    return {**claims, "aud": audience}


def _unlimited(client: Client) -> Client:
    return replace(client, full_scope_allowed=True)


def _mapper_answer(mapper: ProtocolMapper, container: str, name: str, kind: str) -> dict[str, Any]:
    """Return Keycloak's ProtocolMapperEvaluationRepresentation."""
    return {
        "mapperId": mapper.id,
        "mapperName": mapper.name,
        "containerId": container,
        "containerName": name,
        "containerType": kind,
        "protocolMapper": mapper.mapper_type,
    }
