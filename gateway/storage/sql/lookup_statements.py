"""The statements of the look-ups: one row each, with roles, groups and keys in it as JSON.

So a look-up sees one state of the database, and many roles do not repeat the document.
"""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Dialect,
    Label,
    Select,
    Text,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    null,
    or_,
    select,
    type_coerce,
    union_all,
)

from gateway.domain.ports.lookups import MOST_EXCHANGES
from gateway.domain.ports.storage import DocumentKind
from gateway.storage.sql.clients import EVERY_ROLE, is_always_listed
from gateway.storage.sql.column_types import Name
from gateway.storage.sql.prepared_query import PreparedQuery
from gateway.storage.sql.realms import REALM_COLUMNS
from gateway.storage.sql.role_statements import (
    names_in_client_scopes,
    names_in_scope_of,
    names_of_administrative_composites,
    names_of_held,
)
from gateway.storage.sql.schema import (
    change_log,
    client_scopes,
    clients,
    credentials,
    group_members,
    groups,
    offline_client_sessions,
    offline_sessions,
    realm_documents,
    realm_keys,
    realms,
    revocations,
    user_consents,
    users,
)
from gateway.storage.sql.users import groups_of

KEY_COLUMNS: Final = tuple(realm_keys.c)
"""The columns of an item of `keys`, in this order; the same for those below."""
CREDENTIAL_COLUMNS: Final = tuple(credentials.c)
GROUP_COLUMNS: Final = (groups.c.id, groups.c.name, groups.c.parent, groups.c.attributes)
"""Before whether the user is a member."""
CONSENT_COLUMNS: Final = tuple(user_consents.c)
SCOPE_COLUMNS: Final = tuple(
    client_scopes.c[name] for name in ("id", "name", "realm_default", "settings")
)
_OF_SIGN_IN: Final = (
    DocumentKind.AUTHENTICATION_FLOW,
    DocumentKind.AUTHENTICATOR_CONFIG,
    DocumentKind.REQUIRED_ACTION,
    DocumentKind.USER_PROFILE,
)
"""The documents that sign-ins are decided by."""

_REALM: Final = bindparam("realm_id", type_=Name)
_NAME: Final = bindparam("name", type_=Name)
_ADDRESS: Final = bindparam("address", type_=Name)
_KEY: Final = bindparam("key", type_=Name)
_ADDRESS_KEY: Final = bindparam("address_key", type_=Name)
CHAIN_NAMES: Final = tuple(f"name_{place}" for place in range(MOST_EXCHANGES))
"""Parameters for the ids of the tokens that a token was exchanged from."""
_CHANGE: Final = bindparam("change", type_=change_log.c.id.type)
_ARRAYS: Final = {
    "sqlite": (func.json_group_array, func.json_array),
    "postgresql": (func.json_agg, func.json_build_array),
}


@dataclass(frozen=True, slots=True)
class LookupQueries:
    """The queries of one dialect.

    Parameters are `realm_id` and `name`; for an account also `address`, `key` and `address_key`,
    which may be null; for those of a chain CHAIN_NAMES; with changes the id of a `change`; for
    `always_listed` the realm alone.
    """

    revocation: PreparedQuery
    revocation_and_changes: PreparedQuery
    revocation_of_chain: PreparedQuery
    revocation_of_chain_and_changes: PreparedQuery
    realm: PreparedQuery
    client: PreparedQuery
    client_name: PreparedQuery
    always_listed: PreparedQuery
    user: PreparedQuery
    account: PreparedQuery
    credentials: PreparedQuery
    grants: PreparedQuery

    @classmethod
    def of(cls, dialect: Dialect) -> "LookupQueries":
        """Return those of the dialect, compiled once in a process, which takes 20 ms."""
        kind = type(dialect)
        if kind not in _COMPILED:
            statements = (
                _revocation(),
                _revocation_and_changes(_revocation(), dialect.name),
                _revocation_of_chain(),
                _revocation_and_changes(_revocation_of_chain(), dialect.name),
                _realm(dialect.name),
                _client(dialect.name),
                _client_name(),
                _always_listed(),
                _user(dialect.name),
                _account(dialect.name),
                _credentials(),
                _grants(dialect.name),
            )
            compiled = (PreparedQuery(statement, dialect) for statement in statements)
            _COMPILED[kind] = cls(*compiled)
        return _COMPILED[kind]


_COMPILED: Final[dict[type[Dialect], LookupQueries]] = {}
"""One for each kind of database."""


def _revocation() -> Select[Any]:
    return select(revocations.c.token_id).where(
        revocations.c.realm_id == _REALM, revocations.c.token_id == _NAME
    )


def _revocation_of_chain() -> Select[Any]:
    """Select a revoked one of the ids: of a token, and of those it was exchanged from."""
    names = (_NAME, *(bindparam(name, type_=Name) for name in CHAIN_NAMES))
    found = revocations.c.realm_id == _REALM, revocations.c.token_id.in_(names)
    one = select(revocations.c.token_id).where(*found)
    return one.limit(literal_column("1")).offset(literal_column("0"))


def _revocation_and_changes(revocation: Select[Any], dialect: str) -> Select[Any]:
    """Select one row: the id of the token where it is revoked, and the changes after one."""
    changes = select(change_log.c.id, change_log.c.topics).where(change_log.c.id > _CHANGE)
    revoked = revocation.scalar_subquery()
    return select(revoked.label("revoked"), _gathered("changes", changes, dialect))


def _realm(dialect: str) -> Select[Any]:
    """Select a realm, its keys, its client scopes with their roles, and its sign-in documents."""
    named = realms.alias("named")
    this = select(named.c.id).where(named.c.name == _NAME).scalar_subquery()
    keys = select(*KEY_COLUMNS).where(realm_keys.c.realm_id == this)
    scopes = select(*SCOPE_COLUMNS).where(client_scopes.c.realm_id == this)
    kinds = (realm_documents.c.kind == literal_column(f"'{kind}'") for kind in _OF_SIGN_IN)
    document = realm_documents.c
    documents = select(document.kind, document.name, document.document).where(
        document.realm_id == this, or_(*kinds)
    )
    return select(
        *REALM_COLUMNS,
        _gathered("keys", keys, dialect),
        _gathered("scopes", scopes, dialect),
        _gathered("scope_roles", names_in_client_scopes(this), dialect),
        _gathered("documents", documents, dialect),
    ).where(realms.c.name == _NAME)


def _client(dialect: str) -> Select[Any]:
    """Select a client, the roles in its scope, its service account, and the roles of that."""
    of_client = and_(clients.c.realm_id == _REALM, clients.c.client_id == _NAME)
    is_account = and_(
        users.c.realm_id == clients.c.realm_id, users.c.service_account_client == clients.c.id
    )
    named = clients.alias("named")
    this = (
        select(named.c.id)
        .where(named.c.realm_id == _REALM, named.c.client_id == _NAME)
        .scalar_subquery()
    )
    account = select(users.c.id).join(clients, is_account).where(of_client).scalar_subquery()
    return (
        select(
            *clients.c,
            _gathered("roles", names_of_held(_REALM, account), dialect),
            _gathered("scope_roles", names_in_scope_of(_REALM, this), dialect),
            *_withheld(dialect),
            *(column.label(f"account_{column.key}") for column in users.c),
        )
        .outerjoin(users, is_account)
        .where(of_client)
    )


def _withheld(dialect: str) -> tuple[Label[Any], Label[Any]]:
    """Return name of the realm and administrative composites; null for an unlimited reach."""
    stored = clients.c.administrative_roles
    is_limited = or_(stored.is_(None), stored != literal_column(f"'{EVERY_ROLE}'"))
    composites = names_of_administrative_composites(_REALM)
    realm_name = select(realms.c.name).where(realms.c.id == _REALM).scalar_subquery()
    gathered = _gathered("gathered", composites, dialect).element
    return (
        case((is_limited, realm_name), else_=null()).label("limited_in"),
        type_coerce(case((is_limited, gathered), else_=null()), Text).label("composites"),
    )


def _client_name() -> Select[Any]:
    """Select the public name of the client whose internal id is `name`."""
    return select(clients.c.client_id).where(clients.c.realm_id == _REALM, clients.c.id == _NAME)


def _always_listed() -> Select[Any]:
    return select(clients.c.client_id).where(clients.c.realm_id == _REALM, is_always_listed())


def _user(dialect: str) -> Select[Any]:
    lineage = select(groups_of(_REALM, _NAME, "lineage_of_user").c.group_id)
    joined = select(group_members.c.group_id).where(
        group_members.c.realm_id == _REALM, group_members.c.user_id == _NAME
    )
    of_user = select(*GROUP_COLUMNS, groups.c.id.in_(joined).label("joined")).where(
        groups.c.realm_id == _REALM, groups.c.id.in_(lineage)
    )
    return select(
        *users.c,
        _gathered("roles", names_of_held(_REALM, _NAME), dialect),
        _gathered("groups", of_user, dialect),
    ).where(users.c.realm_id == _REALM, users.c.id == _NAME)


def _account(dialect: str) -> Select[Any]:
    """Select the user with the user name, or else the first by name with the address.

    Users whose name or address has the key follow: two rows without the name are ambiguous.
    """
    gather, array = _ARRAYS[dialect]
    held = (
        select(gather(array(*CREDENTIAL_COLUMNS)))
        .where(credentials.c.realm_id == users.c.realm_id, credentials.c.user_id == users.c.id)
        .correlate(users)
        .scalar_subquery()
    )
    by_name, by_address = users.c.username == _NAME, users.c.email == _ADDRESS
    by_key = (users.c.username_key == _KEY, users.c.email_key == _ADDRESS_KEY)
    # A search by index for each: with OR, SQLite would walk through the realm.
    found = union_all(
        *(
            select(users.c.id).where(users.c.realm_id == _REALM, by)
            for by in (by_name, by_address, *by_key)
        )
    )
    is_address = func.coalesce(by_address, literal_column("false"))
    return (
        select(*users.c, type_coerce(held, Text).label("credentials"))
        .where(users.c.realm_id == _REALM, users.c.id.in_(found))
        .order_by(by_name.desc(), is_address.desc(), users.c.username)
        .limit(literal_column("2"))
        .offset(literal_column("0"))
    )


def _credentials() -> Select[Any]:
    of_user = and_(credentials.c.realm_id == _REALM, credentials.c.user_id == _NAME)
    order = (credentials.c.priority, credentials.c.created_at, credentials.c.id)
    found: Select[Any] = select(*CREDENTIAL_COLUMNS).where(of_user).order_by(*order)
    return found


def _grants(dialect: str) -> Select[Any]:
    """Select one row: the consents of a user, and the clients in its offline sessions."""
    consents = select(*CONSENT_COLUMNS).where(
        user_consents.c.realm_id == _REALM, user_consents.c.user_id == _NAME
    )
    of_user = and_(
        offline_sessions.c.realm_id == offline_client_sessions.c.realm_id,
        offline_sessions.c.id == offline_client_sessions.c.session_id,
    )
    offline = (
        select(offline_client_sessions.c.client)
        .distinct()
        .join(offline_sessions, of_user)
        .where(offline_sessions.c.realm_id == _REALM, offline_sessions.c.user_id == _NAME)
    )
    found: Select[Any] = select(_gathered("consents", consents, dialect))
    return found.add_columns(_gathered("offline_clients", offline, dialect))


def _gathered(name: str, rows: Select[Any], dialect: str) -> Label[str]:
    """Return the rows as one JSON array of arrays, null where there are none."""
    gather, array = _ARRAYS[dialect]
    found = rows.subquery()
    gathered: ColumnElement[Any] = gather(array(*found.c))
    # Its numbers and texts are as stored: the reader converts them to the types of the columns.
    return type_coerce(select(gathered).scalar_subquery(), Text).label(name)
