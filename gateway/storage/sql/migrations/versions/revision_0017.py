"""Terms by which clients are found that a request names by its certificate alone."""

import sqlalchemy as sa
from alembic import op

from gateway.domain.clients import Client, certificate_terms, client_settings
from gateway.storage.sql.column_types import Document

revision = "0017"
down_revision = "0016"

_TABLE = "client_certificate_terms"
_BATCH = 1000
_WITH_CERTIFICATE = "client-x509"


def upgrade() -> None:
    """Make the table and fill it from the clients that there are."""
    op.create_table(
        _TABLE,
        sa.Column("realm_id", sa.Text, nullable=False),
        sa.Column("term", sa.Text, nullable=False, comment="see certificate_index.py"),
        sa.Column("client", sa.Text, nullable=False, comment="internal id"),
        sa.PrimaryKeyConstraint("realm_id", "term", "client", name=f"pk_{_TABLE}"),
        sa.ForeignKeyConstraint(
            ["realm_id"], ["realms.id"], name=f"fk_{_TABLE}_realm_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["realm_id", "client"],
            ["clients.realm_id", "clients.id"],
            name=f"fk_{_TABLE}_realm_id_client",
            ondelete="CASCADE",
        ),
    )
    op.create_index(f"ix_{_TABLE}_realm_id_client", _TABLE, ["realm_id", "client"])
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    clients = sa.table(
        "clients", *map(sa.column, ("realm_id", "id")), sa.column("document", Document())
    )
    terms = sa.table(_TABLE, *map(sa.column, ("realm_id", "term", "client")))
    key, last = sa.tuple_(clients.c.realm_id, clients.c.id), ("", "")
    while True:
        page = sa.select(clients).where(key > last).order_by(clients.c.realm_id, clients.c.id)
        rows = connection.execute(page.limit(_BATCH)).all()
        if not rows:
            return
        found = [
            {"realm_id": row.realm_id, "term": term, "client": row.id}
            for row in rows
            if row.document.get("clientAuthenticatorType") == _WITH_CERTIFICATE
            for term in certificate_terms(_client(row))
        ]
        if found:
            connection.execute(sa.insert(terms), found)
        last = (rows[-1].realm_id, rows[-1].id)


def _client(row: sa.Row[tuple[str, str, dict[str, object]]]) -> Client:
    attributes = row.document.get("attributes", {})
    settings = client_settings(attributes, {})
    return Client(
        row.id, row.realm_id, row.id, client_authenticator_type=_WITH_CERTIFICATE, **settings
    )
