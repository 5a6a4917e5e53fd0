"""Clients, client scopes and consents in SQL.

Which clients a search meets: part of the public name, exact values of attributes.

Letters of ASCII alone are the same in both cases, on either database. A wildcard of LIKE is a
character like any other. Keycloak: GET clients, `clientId` with `search`, and `q`
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from sqlalchemy import (
    JSON,
    ColumnElement,
    Select,
    Text,
    and_,
    cast,
    false,
    func,
    literal_column,
    or_,
    select,
    type_coerce,
    update,
)

from gateway.domain.client_scopes import ClientScope, Consent, RealmDefault
from gateway.domain.clients import (
    EVERY_ADMINISTRATIVE_ROLE,
    NO_ADMINISTRATIVE_ROLES,
    AdministrativeReach,
    Client,
    allowed_origins,
    certificate_terms,
    client_settings,
)
from gateway.domain.ports.storage import ClientSearch
from gateway.domain.resources import StoredKind
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.storage.documents import DocumentCodec, UnreadableDocument
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.resources import SqlResources
from gateway.storage.sql.role_statements import effective, names_of_accounts
from gateway.storage.sql.schema import client_certificate_terms, client_scopes, clients, users
from gateway.storage.sql.schema import user_consents as consents
from gateway.storage.sql.transaction import (
    SealedRepository,
    SqlRepository,
    Transaction,
    has,
    has_given,
    is_row,
    portions,
    values_of,
)

_SQLITE = "sqlite"
_ROTATED: Final = "rotated_secret"
"""The member with the sealed secret before the current one."""
_DEFINED: Final = frozenset({"id", "realm_id", "client_id", "secret", _ROTATED, "reach"})
"""What columns hold of a client; `allowed_origins` and groups of settings follow from the rest."""
_CODEC: Final = DocumentCodec(Client, {*_DEFINED, "allowed_origins", *client_settings({}, {})})
_SCOPE_CODEC: Final = DocumentCodec(ClientScope, ("id", "realm_id", "name", "realm_default"))


def matches(search: ClientSearch, dialect: str) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a match."""
    if search.part:
        yield _holds_part(search.part, dialect)
    for name, value in search.attributes.items():
        yield _has_attribute(name, value, dialect)


def is_always_listed() -> ColumnElement[bool]:
    """Return the condition of `alwaysDisplayInConsole`, by text: parsing would take longer."""
    settings = type_coerce(clients.c.settings, Text)
    return settings.like(literal_column("""'%"alwaysDisplayInConsole":true%'"""))


def mentions(texts: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition of clients whose document has one of the texts as a value somewhere."""
    settings = type_coerce(clients.c.settings, Text)
    found = (settings.contains(json.dumps(text), autoescape=True) for text in texts)
    return or_(false(), *found)


def _holds_part(part: str, dialect: str) -> ColumnElement[bool]:
    name = type_coerce(clients.c.client_id, Text)
    plain = name if dialect == _SQLITE else name.collate("C")
    return func.lower(plain).contains(_lower(part), autoescape=True)


def _lower(text: str) -> str:
    return "".join(sign.lower() if sign.isascii() else sign for sign in text)


def _has_attribute(name: str, value: str, dialect: str) -> ColumnElement[bool]:
    settings = type_coerce(clients.c.settings, Text)
    if dialect == _SQLITE:
        entries = func.json_each(settings, "$.attributes")
    else:
        entries = func.json_each_text(cast(settings, JSON)["attributes"])
    entry = entries.table_valued("key", "value")
    found: Select[Any] = select(literal_column("1"))
    found = found.where(entry.c.key == name, entry.c.value == value)
    return found.correlate(clients).exists()


_BY_NAME: Final = FixedQuery(select(clients).where(*has_given(clients, "realm_id", "client_id")))


EVERY_ROLE: Final = "*"
"""Stands in the column for the reach of everything."""


class SqlClients(SealedRepository):
    """ClientRepository on SQL."""

    async def find_by_client_id(self, realm_id: str, client_id: str) -> Client | None:
        if not is_name(client_id):
            return None
        rows = await self._transaction.fetch(_BY_NAME, realm_id=realm_id, client_id=client_id)
        return self._client_of(rows[0]) if rows else None

    async def find_by_id(self, realm_id: str, client: str) -> Client | None:
        return await self._transaction.get_row(clients, realm_id, client, self._client_of)

    async def get_for_update(self, realm_id: str, client: str) -> Client | None:
        return await self._transaction.get_row(
            clients, realm_id, client, self._client_of, for_update=True
        )

    async def named(self, realm_id: str, client_ids: Sequence[str]) -> tuple[Client, ...]:
        of_realm = select(clients).where(clients.c.realm_id == realm_id)
        found: list[Client] = []
        for some in portions([name for name in client_ids if is_name(name)]):
            one_of_them = clients.c.client_id.in_(some)
            found += await self._transaction.read_rows(of_realm.where(one_of_them), self._client_of)
        return tuple(found)

    async def search_clients(
        self, realm_id: str, search: ClientSearch, first: int, maximum: int
    ) -> tuple[Client, ...]:
        found = _by_name(realm_id).where(*matches(search, self._transaction.dialect))
        return await self._transaction.read_rows(
            found.offset(first).limit(maximum), self._client_of
        )

    async def using_scopes(self, realm_id: str, names: Collection[str]) -> tuple[Client, ...]:
        carrying = clients.c.administrative_roles.is_not(None)
        of_realm = _by_name(realm_id).where(carrying, mentions(names))
        found = await self._transaction.read_rows(of_realm, self._client_of)
        wanted = frozenset(names)
        return tuple(
            client
            for client in found
            if not wanted.isdisjoint(
                (*client.default_client_scopes, *client.optional_client_scopes)
            )
        )

    async def with_certificate_terms(
        self, realm_id: str, terms: Collection[str], most: int
    ) -> tuple[str, ...]:
        if not terms:
            return ()
        found = client_certificate_terms.c
        of_client = and_(found.realm_id == clients.c.realm_id, found.client == clients.c.id)
        named = select(clients.c.client_id).join(client_certificate_terms, of_client).distinct()
        one_of_them = and_(found.realm_id == realm_id, found.term.in_(sorted(terms)))
        statement = named.where(one_of_them).order_by(clients.c.client_id).limit(most)
        return await self._transaction.read_rows(statement, lambda row: str(row.client_id))

    async def certificate_terms(self, realm_id: str, most: int) -> tuple[tuple[str, str], ...]:
        found = client_certificate_terms.c
        of_client = and_(found.realm_id == clients.c.realm_id, found.client == clients.c.id)
        named = select(found.term, clients.c.client_id).join(clients, of_client)
        statement = named.where(found.realm_id == realm_id).limit(most)
        return await self._transaction.read_rows(statement, lambda row: (row.term, row.client_id))

    async def with_registration_token(
        self, realm_id: str, client_ids: Sequence[str]
    ) -> frozenset[str]:
        named = clients.c.client_id.in_(client_ids)
        registered = clients.c.registration_token_id.is_not(None)
        of_realm = clients.c.realm_id == realm_id
        statement = select(clients.c.client_id).where(of_realm, named, registered)
        return frozenset(
            await self._transaction.read_rows(statement, lambda row: str(row.client_id))
        )

    async def account_roles(
        self, realm_id: str, owners: Sequence[str]
    ) -> Mapping[str, EffectiveRoles]:
        found: dict[str, EffectiveRoles] = {}
        for some in portions([owner for owner in owners if is_name(owner)]):
            names: defaultdict[str, list[tuple[str, str | None]]] = defaultdict(list)
            for row in await self._transaction.execute(names_of_accounts(realm_id, some)):
                names[row.owner] += [] if row.name is None else [(row.name, row.client_id)]
            found |= {owner: effective(held) for owner, held in names.items()}
        return found

    async def list_clients(self, realm_id: str) -> tuple[Client, ...]:
        return await self._transaction.read_rows(_by_name(realm_id), self._client_of)

    async def ids(self, realm_id: str) -> Mapping[str, str]:
        statement = select(clients.c.client_id, clients.c.id).where(clients.c.realm_id == realm_id)
        return dict(await self._transaction.read_rows(statement, tuple))

    async def add(self, client: Client) -> None:
        await self._transaction.insert(
            clients, [self._values(client)], taken=_client_conflict(client)
        )
        await self._add_terms(client)

    async def replace(self, client: Client) -> None:
        one = update(clients).where(is_row(clients, client.realm_id, client.id))
        await self._transaction.change(
            one.values(self._values(client)), taken=_client_conflict(client)
        )
        await self._transaction.delete_rows(
            client_certificate_terms, realm_id=client.realm_id, client=client.id
        )
        await self._add_terms(client)

    async def _add_terms(self, client: Client) -> None:
        rows = [
            {"realm_id": client.realm_id, "term": term, "client": client.id}
            for term in certificate_terms(client)
        ]
        await self._transaction.insert(client_certificate_terms, rows)

    async def remove_client(self, realm_id: str, client: str) -> bool:
        return await self._transaction.remove_row(clients, realm_id, client)

    async def remove_service_account(self, realm_id: str, client: str) -> None:
        await self._transaction.delete_rows(users, realm_id=realm_id, service_account_client=client)

    async def registration_token(self, realm_id: str, client: str) -> str | None:
        token = select(clients.c.registration_token_id).where(is_row(clients, realm_id, client))
        return (await self._transaction.execute(token)).scalar_one_or_none()

    async def set_registration_token(
        self, realm_id: str, client: str, token_id: str | None
    ) -> None:
        one = update(clients).where(is_row(clients, realm_id, client))
        await self._transaction.change(one.values(registration_token_id=token_id))

    def _client_of(self, row: Any) -> Client:
        return read_client_row(row, self._secrets)

    def _values(self, client: Client) -> dict[str, Any]:
        secret, rotated = client.secret, client.rotated_secret
        settings = _CODEC.encode(client)
        if rotated is not None:
            context = _rotated_context(client.realm_id, client.id)
            settings[_ROTATED] = self._secrets.seal(rotated.reveal(), context)
        return {
            "realm_id": client.realm_id,
            "id": client.id,
            "client_id": client.client_id,
            "settings": settings,
            "secret": secret
            and self._secrets.seal(secret.reveal(), _context(client.realm_id, client.id)),
            "administrative_roles": _stored_reach(client.reach),
        }


def decode_client(
    settings: Mapping[str, Any],
    realm_id: str,
    client: str,
    client_id: str,
    reach: AdministrativeReach = NO_ADMINISTRATIVE_ROLES,
) -> Client:
    """Return the client of stored settings, without its secrets; raises UnreadableDocument."""
    public = {name: each for name, each in settings.items() if name != _ROTATED}
    try:
        own = _CODEC.decode_members(public)
    except UnreadableDocument as error:
        raise error.inside(f"client {client_id}: ") from None
    kept = own.get("document", {})
    return Client(
        id=client,
        realm_id=realm_id,
        client_id=client_id,
        reach=reach,
        allowed_origins=allowed_origins(own.get("web_origins", ()), kept),
        **own,
        **client_settings(own.get("attributes", {}), kept),
    )


def read_client_row(row: Any, secrets: SecretsAtRest) -> Client:
    """Return the client of a row."""
    reach = _reach(row.administrative_roles)
    client = decode_client(row.settings, row.realm_id, row.id, row.client_id, reach)
    rotated = row.settings.get(_ROTATED)
    if rotated is not None:
        context = _rotated_context(row.realm_id, row.id)
        client = replace(client, rotated_secret=Secret(secrets.unseal(rotated, context)))
    if row.secret is None:
        return client
    context = _context(row.realm_id, row.id)
    return replace(client, secret=Secret(secrets.unseal(row.secret, context)))


def _stored_reach(reach: AdministrativeReach) -> str | None:
    if reach.everything:
        return EVERY_ROLE
    return json.dumps(sorted(reach.roles)) if reach.roles else None


def _reach(stored: str | None) -> AdministrativeReach:
    if stored == EVERY_ROLE:
        return EVERY_ADMINISTRATIVE_ROLE
    if stored is None:
        return NO_ADMINISTRATIVE_ROLES
    return AdministrativeReach(roles=frozenset(json.loads(stored)))


def _by_name(realm_id: str) -> Select[Any]:
    return select(clients).where(clients.c.realm_id == realm_id).order_by(clients.c.client_id)


def _context(realm_id: str, client: str) -> str:
    return f"client-secret:{realm_id}:{client}"


def _rotated_context(realm_id: str, client: str) -> str:
    return f"rotated-client-secret:{realm_id}:{client}"


def _client_conflict(client: Client) -> str:
    return f"Client {client.client_id} already exists"


_STORED_SCOPES: Final = StoredKind(
    ClientScope,
    "client_scopes",
    order=("name",),
    conflict_message="Client Scope {name} already exists",
)


class SqlClientScopes(SqlResources[ClientScope]):
    """ClientScopeRepository on SQL: most of a scope is in the document of its row."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, _STORED_SCOPES)

    async def get_for_update(self, realm_id: str, scope_id: str) -> ClientScope | None:
        return await self._transaction.get_row(
            client_scopes, realm_id, scope_id, self._value_of, for_update=True
        )

    def _value_of(self, row: Any) -> ClientScope:
        return read_scope_row(row, row.realm_id, row.settings)

    def _row(self, realm_id: str, value: ClientScope) -> dict[str, Any]:
        own = values_of(value, ("id", "name", "realm_default"))
        return {"realm_id": realm_id, **own, "settings": _SCOPE_CODEC.encode(value)}


def read_scope_row(row: Any, realm_id: str, settings: Mapping[str, Any]) -> ClientScope:
    """Return the client scope of a row; raises UnreadableDocument."""
    listed = None if row.realm_default is None else RealmDefault(row.realm_default)
    try:
        return _SCOPE_CODEC.decode(
            settings, id=row.id, realm_id=realm_id, name=row.name, realm_default=listed
        )
    except UnreadableDocument as error:
        raise error.inside(f"client scope {row.name}: ") from None


_FIELDS = tuple(field.name for field in fields(Consent))
_KEY = ("realm_id", "user_id", "client")


class SqlConsents(SqlRepository):
    """ConsentRepository on SQL."""

    async def find_consent(self, realm_id: str, user_id: str, client: str) -> Consent | None:
        if not is_name(user_id) or not is_name(client):
            return None
        one = has(consents, realm_id=realm_id, user_id=user_id, client=client)
        return await self._transaction.first(select(consents).where(one), _parse_consent)

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Consent, ...]:
        if not is_name(user_id):
            return ()
        of_user = select(consents).where(has(consents, realm_id=realm_id, user_id=user_id))
        ordered = of_user.order_by(consents.c.created_at, consents.c.client)
        return await self._transaction.read_rows(ordered, _parse_consent)

    async def put_consent(self, consent: Consent) -> None:
        row = values_of(consent, _FIELDS)
        await self._transaction.put_row(consents, row, _KEY, changed=("scopes", "updated_at"))

    async def remove_consent(self, realm_id: str, user_id: str, client: str) -> bool:
        key = {"realm_id": realm_id, "user_id": user_id, "client": client}
        return await self._transaction.delete_rows(consents, **key) > 0


def _parse_consent(row: Any) -> Consent:
    return Consent(**values_of(row, _FIELDS))
