"""What finds users by any part of their names, see user_terms.

SQLite: a narrow copy of the people among the users, in the order of names by its index, and an
FTS5 index of their terms; triggers keep both, for the version before this one too. PostgreSQL: a
GIN index over the terms, and an index of people by name.
"""

# All that is put together here are names of this file.
# ruff: noqa: S608

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_LONGEST_TEXT: Final = 256
"""A name of 255 characters and the mark before it."""
_TEXTS: Final = ("username", "email", "first_name_lower", "last_name_lower")
_COLUMNS: Final = ("realm_id", "id", *_TEXTS, "enabled", "email_verified")

_FUNCTION: Final = r"""
CREATE FUNCTION user_search_terms(
    realm_id text, username text, email text, first_name text, last_name text,
    enabled boolean, email_verified boolean
) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 500 AS $$
    SELECT array_to_tsvector(
        ARRAY(
            SELECT realm_id || E'\x01' || substr(value, place, 3)
            FROM unnest(ARRAY[E'\x02' || username, E'\x02' || email,
                              E'\x02' || first_name, E'\x02' || last_name]) AS value,
                 generate_series(1, length(value)) AS place
        )
        || (realm_id || E'\x01\x03' || enabled::integer)
        || (realm_id || E'\x01\x04' || email_verified::integer)
    )
$$
"""
_IS_PERSON: Final = "(service_account_client || '') IS NULL"


def upgrade() -> None:
    """Index who is there, and take away what no search uses any more."""
    if op.get_context().dialect.name == "postgresql":
        _upgrade_postgresql()
    else:
        _upgrade_sqlite()
    for column in ("first_name_lower", "last_name_lower"):
        op.drop_index(f"ix_users_realm_id_{column}", "users")


def _upgrade_postgresql() -> None:
    op.execute(_FUNCTION)
    columns = ", ".join(("realm_id", *_TEXTS, "enabled", "email_verified"))
    op.execute(
        "CREATE INDEX ix_users_search_terms ON users USING gin"
        # A search reads what waits to be sorted in: let little wait.
        f" (user_search_terms({columns})) WITH (gin_pending_list_limit = 512) WHERE {_IS_PERSON}"
    )
    op.execute(
        f"CREATE INDEX ix_users_search_order ON users (realm_id, username) WHERE {_IS_PERSON}"
    )


def _upgrade_sqlite() -> None:
    op.execute("CREATE TABLE user_search_places (place INTEGER PRIMARY KEY)")
    op.bulk_insert(
        sa.table("user_search_places", sa.column("place", sa.Integer)),
        [{"place": place} for place in range(1, _LONGEST_TEXT + 1)],
    )
    op.execute(
        "CREATE TABLE user_search (number INTEGER PRIMARY KEY, realm_id TEXT NOT NULL,"
        " id TEXT NOT NULL, username TEXT NOT NULL, email TEXT, first_name_lower TEXT,"
        " last_name_lower TEXT, enabled BOOLEAN NOT NULL, email_verified BOOLEAN NOT NULL)"
    )
    op.execute(
        "CREATE VIRTUAL TABLE user_search_terms USING"
        " fts5(terms, content = '', detail = none, columnsize = 0, tokenize = 'ascii')"
    )
    names = ", ".join(_COLUMNS)
    copy = f"INSERT INTO user_search ({names}) SELECT {names} FROM users"
    op.execute(f"{copy} WHERE service_account_client IS NULL")
    op.execute("CREATE UNIQUE INDEX uq_user_search_order ON user_search (realm_id, username)")
    op.execute(
        "INSERT INTO user_search_terms (rowid, terms)"
        f" SELECT number, {_terms('user_search')} FROM user_search"
    )
    for trigger in _triggers(names):
        op.execute(sa.text(trigger.replace(":", r"\:")))


def _terms(row: str) -> str:
    """Return the expression of what FTS5 is given for a row."""
    mark = f"hex(substr({row}.realm_id, 1, 4) || substr({row}.realm_id, -4)) || 'r'"
    texts = " UNION ALL ".join(f"SELECT char(2) || {row}.{text} AS value" for text in _TEXTS)
    return (
        f"(SELECT group_concat({mark} || hex(substr(value, place, 3)), ' ')"
        f" FROM ({texts}) JOIN user_search_places ON place <= length(value))"
        f" || ' ' || {mark} || hex(char(3) || {row}.enabled)"
        f" || ' ' || {mark} || hex(char(4) || {row}.email_verified)"
    )


def _triggers(names: str) -> tuple[str, ...]:
    new, old = (", ".join(f"{row}.{name}" for name in _COLUMNS) for row in ("NEW", "OLD"))
    add = (
        f"INSERT INTO user_search ({names}) SELECT {new} WHERE NEW.service_account_client IS NULL;"
    )
    remove = "DELETE FROM user_search WHERE realm_id = OLD.realm_id AND username = OLD.username;"
    changed = (
        f"UPDATE OF {names}, service_account_client ON users"
        f" WHEN ({new}, NEW.service_account_client) IS NOT ({old}, OLD.service_account_client)"
    )
    index = f"INSERT INTO user_search_terms (rowid, terms) VALUES (NEW.number, {_terms('NEW')});"
    forget = (
        "INSERT INTO user_search_terms (user_search_terms, rowid, terms)"
        f" VALUES ('delete', OLD.number, {_terms('OLD')});"
    )
    return (
        f"CREATE TRIGGER user_search_on_insert AFTER INSERT ON users BEGIN {add} END",
        f"CREATE TRIGGER user_search_on_delete AFTER DELETE ON users BEGIN {remove} END",
        f"CREATE TRIGGER user_search_on_update AFTER {changed} BEGIN {remove} {add} END",
        f"CREATE TRIGGER user_search_terms_add AFTER INSERT ON user_search BEGIN {index} END",
        f"CREATE TRIGGER user_search_terms_remove AFTER DELETE ON user_search BEGIN {forget} END",
    )
