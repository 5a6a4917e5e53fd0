"""The statements of the look-ups: one row each, what hangs on it gathered in it as JSON.

So a question sees one state of the database, and a large number of roles repeats no document.
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
    func,
    literal_column,
    or_,
    select,
    type_coerce,
    union_all,
)

from gateway.domain.ports.storage.documents import DocumentKind
from gateway.storage.sql.column_types import Name
from gateway.storage.sql.lookups.question import Question
from gateway.storage.sql.roles import names_in_client_scopes, names_in_scope_of, names_of_held
from gateway.storage.sql.schema import (
    client_scopes,
    clients,
    credentials,
    group_members,
    groups,
    realm_documents,
    realm_keys,
    realms,
    revocations,
    users,
)
from gateway.storage.sql.users import groups_of

KEY_COLUMNS: Final = tuple(realm_keys.c)
"""What stands in each item of `keys`, in this order."""
CREDENTIAL_COLUMNS: Final = tuple(credentials.c)
"""What stands in each item of `credentials`, in this order."""
GROUP_COLUMNS: Final = (groups.c.id, groups.c.name, groups.c.parent, groups.c.attributes)
"""What stands in each item of `groups`, in this order, before whether the user is a member."""
SCOPE_COLUMNS: Final = (client_scopes.c.id, client_scopes.c.realm_default, client_scopes.c.document)
"""What stands in each item of `scopes`, in this order."""
DOCUMENT_COLUMNS: Final = (
    realm_documents.c.kind,
    realm_documents.c.name,
    realm_documents.c.document,
)
"""What stands in each item of `documents`, in this order."""
_OF_SIGN_IN: Final = (DocumentKind.AUTHENTICATION_FLOW, DocumentKind.REQUIRED_ACTION)
"""The documents of a realm that a sign-in goes by."""

_REALM: Final = bindparam("realm_id", type_=Name)
_NAME: Final = bindparam("name", type_=Name)
_ADDRESS: Final = bindparam("address", type_=Name)
_ARRAYS: Final = {
    "sqlite": (func.json_group_array, func.json_array),
    "postgresql": (func.json_agg, func.json_build_array),
}


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of one dialect.

    Parameters are `realm_id` and `name`, and `address`, which may be null, for an account.
    """

    revocation: Question
    realm: Question
    client: Question
    user: Question
    account: Question

    @classmethod
    def of(cls, dialect: Dialect) -> "Questions":
        """Return those of the dialect, compiled once in a process: it takes 20 ms."""
        kind = type(dialect)
        if kind not in _COMPILED:
            statements = (
                _revocation(),
                _realm(dialect.name),
                _client(dialect.name),
                _user(dialect.name),
                _account(dialect.name),
            )
            compiled = (Question(statement, dialect) for statement in statements)
            _COMPILED[kind] = cls(*compiled)
        return _COMPILED[kind]


_COMPILED: Final[dict[type[Dialect], Questions]] = {}
"""At most one for each kind of database that the gateway knows."""


def _revocation() -> Select[Any]:
    return select(revocations.c.token_id).where(
        revocations.c.realm_id == _REALM, revocations.c.token_id == _NAME
    )


def _realm(dialect: str) -> Select[Any]:
    """Select a realm, its keys, its client scopes with their roles, and how one signs in."""
    named = realms.alias("named")
    this = select(named.c.id).where(named.c.name == _NAME).scalar_subquery()
    keys = select(*KEY_COLUMNS).where(realm_keys.c.realm_id == this)
    scopes = select(*SCOPE_COLUMNS).where(client_scopes.c.realm_id == this)
    kinds = (realm_documents.c.kind == literal_column(f"'{kind}'") for kind in _OF_SIGN_IN)
    documents = select(*DOCUMENT_COLUMNS).where(realm_documents.c.realm_id == this, or_(*kinds))
    return select(
        *realms.c,
        _gathered("keys", keys, dialect),
        _gathered("scopes", scopes, dialect),
        _gathered("scope_roles", names_in_client_scopes(this), dialect),
        _gathered("documents", documents, dialect),
    ).where(realms.c.name == _NAME)


def _client(dialect: str) -> Select[Any]:
    """Select a client, what is in its scope, its service account, and what that may do."""
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
            *(column.label(f"account_{column.key}") for column in users.c),
        )
        .outerjoin(users, is_account)
        .where(of_client)
    )


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
    """Select who has the user name, or else the first by name who has the address."""
    gather, array = _ARRAYS[dialect]
    held = (
        select(gather(array(*CREDENTIAL_COLUMNS)))
        .where(credentials.c.realm_id == users.c.realm_id, credentials.c.user_id == users.c.id)
        .correlate(users)
        .scalar_subquery()
    )
    by_name, by_address = users.c.username == _NAME, users.c.email == _ADDRESS
    # Two look-ups by index: asked for either at once, SQLite would walk through the realm.
    meant = union_all(
        *(select(users.c.id).where(users.c.realm_id == _REALM, by) for by in (by_name, by_address))
    )
    return (
        select(*users.c, type_coerce(held, Text).label("credentials"))
        .where(users.c.realm_id == _REALM, users.c.id.in_(meant))
        .order_by(by_name.desc(), users.c.username)
        .limit(literal_column("1"))
        .offset(literal_column("0"))
    )


def _gathered(name: str, rows: Select[Any], dialect: str) -> Label[str]:
    """Return the rows as one JSON array of arrays, null where there are none."""
    gather, array = _ARRAYS[dialect]
    found = rows.subquery()
    gathered: ColumnElement[Any] = gather(array(*found.c))
    # Its numbers and texts are as the columns hold them: read by whoever asked.
    return type_coerce(select(gathered).scalar_subquery(), Text).label(name)
