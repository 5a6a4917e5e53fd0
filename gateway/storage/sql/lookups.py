"""The look-ups of requests in SQL, on the driver's own connection.

The Lookups port on SQL: values from the rows of its queries.

Roles and groups come as JSON, in the order of the statement's columns.
"""

import json
from collections import defaultdict, namedtuple
from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, TypeVar

from gateway.domain.client_scopes import Consent, RoleBoundScope
from gateway.domain.clients import Client, WithheldRoles
from gateway.domain.clock import instant_of
from gateway.domain.flows import rules_in as flow_rules_in
from gateway.domain.ports.invalidation import RecordedChange
from gateway.domain.ports.lookups import (
    MOST_EXCHANGES,
    ClientEntry,
    Found,
    SignInAccount,
    StoredRealm,
    TokenState,
    UserEntry,
    UserGrants,
)
from gateway.domain.ports.storage import DocumentKind
from gateway.domain.realm import MASTER
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import SecretsAtRest
from gateway.domain.stored_profile import profile_in
from gateway.domain.unique_names import name_key
from gateway.domain.users import Credential, User
from gateway.storage.sql.clients import read_client_row, read_scope_row
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.groups import path_of
from gateway.storage.sql.lookup_statements import (
    CHAIN_NAMES,
    CONSENT_COLUMNS,
    CREDENTIAL_COLUMNS,
    GROUP_COLUMNS,
    KEY_COLUMNS,
    SCOPE_COLUMNS,
    LookupQueries,
)
from gateway.storage.sql.prepared_query import PreparedQuery, QueryExecutor, row_digest
from gateway.storage.sql.realms import read_key_row, read_realm_row
from gateway.storage.sql.role_statements import effective
from gateway.storage.sql.schema import users
from gateway.storage.sql.user_credentials import credential_context, read_credential
from gateway.storage.sql.users import read_user

ValueT = TypeVar("ValueT")

_Account: Final = namedtuple("_Account", [column.key for column in users.c])  # type: ignore[misc] # noqa: PYI024 - its fields are those of the table
_Key: Final = namedtuple("_Key", [column.key for column in KEY_COLUMNS])  # type: ignore[misc] # noqa: PYI024 - its fields are those of the table
_Credential: Final = namedtuple("_Credential", [column.key for column in CREDENTIAL_COLUMNS])  # type: ignore[misc] # noqa: PYI024 - its fields are those of the table
_Group: Final = namedtuple("_Group", [*(column.key for column in GROUP_COLUMNS), "joined"])  # type: ignore[misc] # noqa: PYI024 - its fields are those of the table
_Consent: Final = namedtuple("_Consent", [column.key for column in CONSENT_COLUMNS])  # type: ignore[misc] # noqa: PYI024 - its fields are those of the table
_Scope: Final = namedtuple("_Scope", [column.key for column in SCOPE_COLUMNS])  # type: ignore[misc] # noqa: PYI024 - its fields are those of the table
_USUAL_SECRET: Final = 140
"""Characters of hash and salt, and of the parameters of the hash."""
_INSTANTS: Final = ("created_at", "active_from", "retire_at")


class SqlLookups:
    """Lookups by prepared queries."""

    def __init__(
        self, query_executor: QueryExecutor, queries: LookupQueries, secrets: SecretsAtRest
    ) -> None:
        self._executor = query_executor
        self._queries = queries
        self._secrets = secrets
        self._no_user = _no_user(secrets)
        """Decoded where no user was found, so that timing does not reveal it (attacks: D11)."""

    async def is_revoked(self, realm_id: str, *token_ids: str) -> bool:
        query, (own, *others) = self._queries.revocation, token_ids
        names = {"name": own}
        if others:
            query, names = self._queries.revocation_of_chain, _token_names(token_ids)
        elif not is_name(own):
            return False
        arguments = query.arguments(realm_id=realm_id, **names)
        return bool(await self._executor.execute(query, arguments))

    async def token_state(
        self, realm_id: str, token_ids: tuple[str, ...], after: int
    ) -> TokenState:
        query, (own, *others) = self._queries.revocation_and_changes, token_ids
        names = {"name": own if is_name(own) else ""}
        if others:
            query, names = self._queries.revocation_of_chain_and_changes, _token_names(token_ids)
        arguments = query.arguments(realm_id=realm_id, change=after, **names)
        ((revoked, gathered),) = await self._executor.execute(query, arguments)
        changes = (
            RecordedChange(identity, tuple(json.loads(topics)))
            for identity, topics in sorted(_items(gathered))
        )
        return TokenState(revoked is not None, tuple(changes))

    async def realm(
        self, name: str, before: Found[StoredRealm] | None = None
    ) -> Found[StoredRealm] | None:
        return await self._find(self._queries.realm, self._realm, before, "", name)

    async def client(
        self, realm_id: str, client_id: str, before: Found[ClientEntry] | None = None
    ) -> Found[ClientEntry] | None:
        return await self._find(self._queries.client, self._client, before, realm_id, client_id)

    async def client_name(self, realm_id: str, client: str) -> str | None:
        if not is_name(client):
            return None
        query = self._queries.client_name
        arguments = query.arguments(realm_id=realm_id, name=client)
        rows = await self._executor.execute(query, arguments)
        return rows[0][0] if rows else None

    async def always_listed(self, realm_id: str) -> tuple[str, ...]:
        query = self._queries.always_listed
        rows = await self._executor.execute(query, query.arguments(realm_id=realm_id))
        return tuple(row[0] for row in rows)

    async def user(
        self, realm_id: str, user_id: str, before: Found[UserEntry] | None = None
    ) -> Found[UserEntry] | None:
        return await self._find(self._queries.user, _user, before, realm_id, user_id)

    async def account(
        self, realm_id: str, name: str, address: str | None, *, key: str | None = None
    ) -> SignInAccount | None:
        if not is_name(name) or not is_name(key or ""):
            return None
        query = self._queries.account
        arguments = query.arguments(
            realm_id=realm_id,
            name=name,
            address=address,
            key=key,
            address_key=None if address is None else key,
        )
        rows = await self._executor.execute(query, arguments)
        row, held = query.parse_row(rows[0] if rows else self._no_user), []
        for item in _items(row.credentials):
            stored: Any = _Credential._make(item)
            set_at = None if stored.set_at is None else instant_of(stored.set_at)
            instants = {"created_at": instant_of(stored.created_at), "set_at": set_at}
            held.append(read_credential(stored._replace(**instants), self._secrets))
        held.sort(key=attrgetter("priority", "created_at", "id"))
        account = SignInAccount(read_user(row), tuple(held))
        if not rows or not _is_meant(account.user, name, address, key, is_only=len(rows) == 1):
            return None
        return account

    async def credentials(self, realm_id: str, user_id: str) -> tuple[Credential, ...]:
        if not is_name(user_id):
            return ()
        query = self._queries.credentials
        arguments = query.arguments(realm_id=realm_id, name=user_id)
        rows = await self._executor.execute(query, arguments)
        return tuple(read_credential(query.parse_row(row), self._secrets) for row in rows)

    async def grants(self, realm_id: str, user_id: str) -> UserGrants:
        if not is_name(user_id):
            return UserGrants()
        query = self._queries.grants
        arguments = query.arguments(realm_id=realm_id, name=user_id)
        ((consents, offline),) = await self._executor.execute(query, arguments)
        return UserGrants(
            tuple(map(_consent, _items(consents))),
            frozenset(client for (client,) in _items(offline)),
        )

    async def _find(
        self,
        query: PreparedQuery,
        read: Callable[[Any], ValueT],
        before: Found[ValueT] | None,
        realm_id: str,
        name: str,
    ) -> Found[ValueT] | None:
        if not is_name(name):
            return None
        arguments = query.arguments(realm_id=realm_id, name=name)
        rows = await self._executor.execute(query, arguments)
        if not rows:
            return None
        digest = row_digest(rows[0])
        if before is not None and before.digest == digest:
            return before
        return Found(read(query.parse_row(rows[0])), digest)

    def _realm(self, row: Any) -> StoredRealm:
        found = [_key(item) for item in _items(row.keys)]
        found.sort(key=lambda key: key.kid)
        found.sort(key=lambda key: key.created_at, reverse=True)
        realm = read_realm_row(row, self._secrets)
        documents = _documents(row)
        return StoredRealm(
            realm,
            tuple(read_key_row(key, self._secrets) for key in found),
            _scopes(row),
            flow_rules_in(
                realm.id,
                realm.flows,
                documents[DocumentKind.AUTHENTICATION_FLOW],
                documents[DocumentKind.AUTHENTICATOR_CONFIG],
                documents[DocumentKind.REQUIRED_ACTION],
            ),
            profile_in(documents[DocumentKind.USER_PROFILE]),
        )

    def _client(self, row: Any) -> ClientEntry:
        client = read_client_row(row, self._secrets)
        limited = not client.full_scope_allowed
        reached = _items(row.scope_roles)
        in_scope = _names(reached) if limited else EffectiveRoles()
        own = frozenset(name for _, name, owner in reached if owner == client.client_id)
        withheld = _withheld(client, row)
        if row.account_id is None or not client.service_accounts_enabled:
            return ClientEntry(client, None, EffectiveRoles(), in_scope, own, withheld)
        account = _Account._make(row[-len(_Account._fields) :])
        held = effective(_items(row.roles))
        return ClientEntry(client, read_user(account), held, in_scope, own, withheld)


def _token_names(token_ids: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters for the ids, filled up with the first; raises ValueError."""
    own, *others = [one if is_name(one) else "" for one in token_ids]
    if len(others) > MOST_EXCHANGES:
        raise ValueError("too many ids of exchanged tokens")
    filled = [*others, *[own] * (MOST_EXCHANGES - len(others))]
    return {"name": own} | dict(zip(CHAIN_NAMES, filled, strict=True))


def _withheld(client: Client, row: Any) -> WithheldRoles | None:
    """Return the roles that tokens of a client do not carry; None where they carry all."""
    if client.reach.everything:
        return None
    contained = (((owner, name), (of, part)) for name, owner, part, of in _items(row.composites))
    return WithheldRoles.of(client.reach, contained, in_master=row.limited_in == MASTER)


def _is_meant(
    user: User, name: str, address: str | None, key: str | None, *, is_only: bool
) -> bool:
    """Tell whether a name means the user: exactly, or as the only one with its key now."""
    if name == user.username or (address is not None and address == user.email):
        return True
    texts = (user.username, None if address is None else user.email)
    return is_only and any(text and name_key(text) == key for text in texts)


def _no_user(secrets: SecretsAtRest) -> tuple[Any, ...]:
    """Return a row like that of a user with a password."""
    sealed = secrets.seal("x" * _USUAL_SECRET, credential_context("", ""))
    held = dict.fromkeys(_Credential._fields, "") | {
        "created_at": 0,
        "set_at": 0,
        "priority": 0,
        "credential_data": "x" * _USUAL_SECRET,
        "secret_data": sealed,
    }
    user = dict.fromkeys(_Account._fields, "") | {
        "enabled": False,
        "created_at": 0,
        "added_at": 0,
        "email_verified": False,
        "document": "{}",
    }
    return (*user.values(), json.dumps([list(held.values())]))


def _scopes(row: Any) -> tuple[RoleBoundScope, ...]:
    bound: defaultdict[str, list[list[Any]]] = defaultdict(list)
    for item in _items(row.scope_roles):
        bound[item[0]].append(item)
    scopes: list[Any] = [_Scope._make(item) for item in _items(row.scopes)]
    found = (read_scope_row(one, row.id, json.loads(one.settings)) for one in scopes)
    return tuple(
        RoleBoundScope(scope, _names(bound[scope.id]))
        for scope in sorted(found, key=lambda scope: scope.name)
    )


def _documents(row: Any) -> Mapping[DocumentKind, Mapping[str, Any]]:
    """Return by name those that sign-ins are decided by."""
    found: defaultdict[DocumentKind, dict[str, Any]] = defaultdict(dict)
    for kind, name, document in _items(row.documents):
        found[DocumentKind(kind)][name] = json.loads(document)
    return found


def _names(items: list[list[Any]]) -> EffectiveRoles:
    return effective([item[1:] for item in items])


def _user(row: Any) -> UserEntry:
    known: dict[str, Any] = {item[0]: _Group._make(item) for item in _items(row.groups)}
    joined = {path_of(group, known): group for group in known.values() if group.joined}
    return UserEntry(
        read_user(row),
        effective(_items(row.roles)),
        tuple(sorted(joined)),
        _inherited([joined[path] for path in sorted(joined)], known),
    )


def _inherited(joined: list[Any], known: dict[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the attributes of groups, those of each before those of its parent, each once."""
    found: dict[str, Mapping[str, Any]] = {}
    for group in joined:
        above = group
        while above is not None and above.id not in found:
            attributes = json.loads(above.attributes)
            found[above.id] = {name: tuple(values) for name, values in attributes.items()}
            above = known.get(above.parent)
    return tuple(attributes for attributes in found.values() if attributes)


def _consent(item: list[Any]) -> Consent:
    row: Any = _Consent._make(item)
    return Consent(
        realm_id=row.realm_id,
        user_id=row.user_id,
        client=row.client,
        scopes=tuple(json.loads(row.scopes)),
        created_at=instant_of(row.created_at),
        updated_at=instant_of(row.updated_at),
    )


def _key(item: list[Any]) -> Any:
    key = _Key._make(item)
    instants = {name: getattr(key, name) for name in _INSTANTS}
    return key._replace(**{name: _instant_or_none(since) for name, since in instants.items()})


def _instant_or_none(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else instant_of(microseconds)


def _items(gathered: str | None) -> list[list[Any]]:
    return json.loads(gathered) if gathered else []
