"""The tables. Every key begins with the realm, so a reference cannot leave it.

A realm, client or user is one JSON document beside the few columns that are looked up: a new
setting needs no migration. storage/documents.py has the form of `settings`. Two realms may hold
the same UUID (a file imported twice).
Each database derives the search terms of users itself, see revision 0003 and user_search.py.
Indexes with options of a database are in migrations/target_schema.py.
Every change here needs a migration; migrations/README.md says what one may do.
The key of a host alone does not begin with the realm: a host belongs to one site of all realms.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from gateway.domain.certificates import AuthorityKind
from gateway.storage.sql.column_types import (
    BASE64,
    DISTINGUISHED_NAME,
    HEXADECIMAL,
    Document,
    Instant,
    Name,
    NameList,
    word_of,
)

_OF_THE_REQUEST: Final = "parameter of the authorization request"
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _realm_id() -> Column[str]:
    return Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True)


def _reference(column: str, table: str) -> ForeignKeyConstraint:
    """Refer to a row of the same realm; it goes when that row goes."""
    return ForeignKeyConstraint(
        ["realm_id", column], [f"{table}.realm_id", f"{table}.id"], ondelete="CASCADE"
    )


def _by_time(*columns: str) -> tuple[Index, ...]:
    """Index events by each column, then by time."""
    return tuple(Index(None, "realm_id", column, "time", "id") for column in columns)


def _links(name: str, **tables: str) -> Table:
    """Make the table that links rows of two tables, named by column: found from either side."""
    _, second = tables
    return Table(
        name,
        metadata,
        _realm_id(),
        *(Column(column, Name, primary_key=True) for column in tables),
        *(_reference(column, table) for column, table in tables.items()),
        Index(None, "realm_id", second),
    )


realms = Table(
    "realms",
    metadata,
    Column("id", Name, primary_key=True),
    Column("name", Name, nullable=False, unique=True),
    Column("enabled", Boolean, nullable=False),
    Column("settings", Document, nullable=False),
    Column("smtp_password", Text, comment="sealed"),
    Column("smtp_token_secret", Text, comment="sealed"),
    Column("webhook_secret", Text, comment="sealed"),
)

clients = Table(
    "clients",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    Column("client_id", Name, nullable=False),
    Column("settings", Document, nullable=False),
    Column("secret", Text, comment="sealed"),
    Column("registration_token_id", Name, comment="jti of the one that is believed"),
    Column("administrative_roles", Text, comment="that tokens may carry: JSON list; * for all"),
    UniqueConstraint("realm_id", "client_id"),
)

# Comments in the database stay as revisions 0017 and 0019 wrote them: certificate_index.py is now
# domain/clients/client.py, name_keys.py is domain/unique_names.py.
client_certificate_terms = Table(
    "client_certificate_terms",
    metadata,
    _realm_id(),
    Column("term", Name, primary_key=True, comment="see certificate_index.py"),
    Column("client", Name, primary_key=True, comment="internal id"),
    _reference("client", "clients"),
    Index(None, "realm_id", "client"),
)

users = Table(
    "users",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    Column("username", Name, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("email", Name),
    Column("email_verified", Boolean, nullable=False),
    *(Column(name, Name) for name in ("first_name", "last_name", "service_account_client")),
    Column("document", Document, nullable=False),
    Column("first_name_lower", Name, comment="what is searched"),
    Column("last_name_lower", Name, comment="what is searched"),
    Column("username_key", Name, comment="see name_keys.py; null where another user has it"),
    Column("email_key", Name, comment="see name_keys.py"),
    Column("added_at", Instant, comment="by the clock of the gateway; created_at may be imported"),
    UniqueConstraint("realm_id", "username"),
    UniqueConstraint("realm_id", "service_account_client"),
    _reference("service_account_client", "clients"),
    Index(None, "realm_id", "email"),
    Index("uq_users_realm_id_username_key", "realm_id", "username_key", unique=True),
    Index(None, "realm_id", "email_key"),
)

user_attributes = Table(
    "user_attributes",
    metadata,
    _realm_id(),
    Column("name", Name, primary_key=True, comment="what is searched, see attribute_index"),
    Column("value", Name, primary_key=True, comment="what is searched, see attribute_index"),
    Column("user_id", Name, primary_key=True),
    _reference("user_id", "users"),
    Index(None, "realm_id", "user_id"),
)

credentials = Table(
    "credentials",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    *(Column(name, Name, nullable=False) for name in ("user_id", "type")),
    Column("created_at", Instant, nullable=False),
    Column("credential_data", Text, nullable=False),
    Column("secret_data", Text, nullable=False, comment="sealed"),
    Column("priority", Integer, nullable=False),
    Column("user_label", Text),
    Column("key_id", Name, comment="digest of the id of a security key or passkey"),
    Column("set_at", Instant, comment="by the clock of the gateway; created_at may be imported"),
    _reference("user_id", "users"),
    Index(None, "realm_id", "user_id"),
    Index("uq_credentials_realm_id_key_id", "realm_id", "key_id", "type", unique=True),
)

roles = Table(
    "roles",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    Column("name", Name, nullable=False),
    Column("description", Text),
    Column("client", Name, comment="internal id; null for a realm role"),
    Column("attributes", Document, nullable=False, server_default="{}"),
    _reference("client", "clients"),
)
Index("uq_roles_of_client", roles.c.realm_id, roles.c.client, roles.c.name, unique=True)

role_composites = _links("role_composites", role_id="roles", composite_id="roles")

user_roles = _links("user_roles", user_id="users", role_id="roles")

groups = Table(
    "groups",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    Column("name", Name, nullable=False),
    Column("parent", Name, comment="null at the top"),
    Column("attributes", Document, nullable=False),
    Column("description", Text),
    Column("is_default", Boolean, nullable=False, server_default=false()),
    _reference("parent", "groups"),
)
Index("uq_groups_of_parent", groups.c.realm_id, groups.c.parent, groups.c.name, unique=True)

group_members = _links("group_members", user_id="users", group_id="groups")

group_roles = _links("group_roles", group_id="groups", role_id="roles")

realm_keys = Table(
    "realm_keys",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    *(Column(name, Name, nullable=False) for name in ("kid", "algorithm", "status")),
    *(Column(name, Instant, nullable=False) for name in ("created_at", "active_from")),
    Column("retire_at", Instant),
    Column("private_key", Text, nullable=False, comment="sealed"),
    Column("certificate", Text),
    Column("name", Name, comment="of the key provider; null for the standard one"),
    Column("provider", Name, comment="id of the key provider; null for the standard one"),
    Column("priority", Integer, nullable=False, server_default="100"),
    Column("config", Document, nullable=False, server_default="{}", comment="of the key provider"),
    UniqueConstraint("realm_id", "kid"),
)

revocations = Table(
    "revocations",
    metadata,
    _realm_id(),
    Column("token_id", Name, primary_key=True),
    Column("expires_at", Instant, nullable=False, index=True),
)

offline_sessions = Table(
    "offline_sessions",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    *(Column(name, Name, nullable=False) for name in ("user_id", "username", "ip_address")),
    *(Column(name, Instant, nullable=False) for name in ("started_at", "refreshed_at")),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("remember_me", Boolean, nullable=False),
    Column("notes", Document, nullable=False),
    _reference("user_id", "users"),
    Index(None, "realm_id", "user_id"),
)

offline_client_sessions = Table(
    "offline_client_sessions",
    metadata,
    _realm_id(),
    Column("session_id", Name, primary_key=True),
    Column("client", Name, primary_key=True, comment="internal id"),
    Column("session_started_at", Instant, nullable=False, comment="the order of a client's list"),
    Column("started_at", Instant, nullable=False),
    Column("refreshed_at", Instant, nullable=False),
    Column("scope", Text, nullable=False),
    Column("acr", Text, comment="class of the sign-in"),
    Column("authenticated_at", Instant),
    Column("claims", Text, nullable=False, server_default="", comment=_OF_THE_REQUEST),
    _reference("session_id", "offline_sessions"),
    _reference("client", "clients"),
    Index(
        "ix_offline_client_sessions_order",
        *("realm_id", "client", "session_started_at", "session_id"),
    ),
)

user_consents = Table(
    "user_consents",
    metadata,
    _realm_id(),
    Column("user_id", Name, primary_key=True),
    Column("client", Name, primary_key=True, comment="internal id"),
    Column("scopes", NameList, nullable=False, comment="names of client scopes"),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    _reference("user_id", "users"),
    _reference("client", "clients"),
    Index(None, "realm_id", "client"),
)

refresh_families = Table(
    "refresh_families",
    metadata,
    _realm_id(),
    Column("family", Name, primary_key=True),
    Column("session_id", Name, nullable=False),
    Column("token_id", Name, nullable=False, comment="the token whose turn it is"),
    Column("uses", Integer, nullable=False, comment="of that token"),
    Column("successors", NameList, nullable=False, comment="the tokens given for it"),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("ended", Boolean, nullable=False),
    Index(None, "realm_id", "session_id"),
)

logout_notices = Table(
    "logout_notices",
    metadata,
    _realm_id(),
    Column("session_id", Name, primary_key=True),
    Column("client", Name, primary_key=True, comment="internal id"),
    Column("user_id", Name, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("due_at", Instant, nullable=False, comment="when it is sent next"),
    Column("attempts", Integer, nullable=False, comment="begun so far"),
    _reference("client", "clients"),
    Index(None, "realm_id", "client"),
    Index(None, "realm_id", "attempts", "due_at"),
)

mails = Table(
    "mails",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    Column("user_id", Name),
    Column("kind", Name, nullable=False),
    Column("content", Text, nullable=False, comment="sealed; empty once it is over"),
    Column("created_at", Instant, nullable=False),
    Column("due_at", Instant, comment="when it is sent next; null once it is over"),
    Column("attempts", Integer, nullable=False, comment="begun so far"),
    Column("sent_at", Instant),
    Column("failed_at", Instant, comment="when it was given up"),
    Column("reason", Text, comment="why the last attempt failed"),
    _reference("user_id", "users"),
    Index(None, "realm_id", "user_id"),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True, comment="of the event"),
    Column("body", Text, nullable=False, comment="JSON"),
    Column("created_at", Instant, nullable=False),
    Column("due_at", Instant, comment="when it is sent next; null once it is over"),
    Column("attempts", Integer, nullable=False, comment="begun so far"),
    Column("failed_at", Instant, comment="when it was given up"),
    Column("reason", Text, comment="why the last attempt failed"),
)

change_log = Table(
    "change_log",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("topics", NameList, nullable=False, comment="what is to be invalidated"),
    # An id is never assigned twice, even after the newest rows were deleted.
    sqlite_autoincrement=True,
)

client_scopes = Table(
    "client_scopes",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    Column("name", Name, nullable=False),
    Column("realm_default", Name, comment="default or optional for new clients, or null"),
    Column("settings", Document, nullable=False),
    UniqueConstraint("realm_id", "name"),
)

client_scope_roles = _links("client_scope_roles", client_scope="client_scopes", role_id="roles")

client_roles_in_scope = _links("client_roles_in_scope", client="clients", role_id="roles")
client_roles_in_scope.c.client.comment = "internal id"

realm_documents = Table(
    "realm_documents",
    metadata,
    _realm_id(),
    Column("kind", Name, primary_key=True),
    Column("name", Name, primary_key=True),
    Column("document", Document, nullable=False),
)

user_events = Table(
    "user_events",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    Column("time", Instant, nullable=False),
    Column("type", Name, nullable=False),
    Column("client_id", Name, comment="public name, as it was sent"),
    Column("user_id", Name),
    Column("session_id", Name),
    Column("ip_address", Name),
    Column("error", Name),
    Column("details", Document, nullable=False),
    Index(None, "realm_id", "time", "id"),
    *_by_time("type", "client_id", "user_id", "ip_address"),
)

admin_events = Table(
    "admin_events",
    metadata,
    _realm_id(),
    Column("id", Name, primary_key=True),
    Column("time", Instant, nullable=False),
    Column("operation_type", Name, nullable=False),
    Column("resource_type", Name, nullable=False),
    Column("resource_path", Text),
    Column("auth_realm_id", Name),
    Column("auth_client", Name, comment="internal id"),
    Column("auth_user_id", Name),
    Column("ip_address", Name),
    Column("representation", Text),
    Column("error", Name),
    Column("details", Document, nullable=False),
    Index(None, "realm_id", "time", "id"),
    *_by_time("operation_type", "resource_type"),
    *_by_time("auth_realm_id", "auth_client", "auth_user_id", "ip_address"),
)


authorities = Table(
    "authorities",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Name, primary_key=True, comment="client:sha256, or :sha256 for the realm"),
    Column("client", Name, comment="internal id; null for an authority of the realm"),
    Column("sha256", Name, nullable=False, comment="of the certificate, in hexadecimal"),
    Column("kind", word_of(AuthorityKind), nullable=False, comment="anchor or intermediate"),
    Column("certificate", BASE64, nullable=False, comment="DER in base64"),
    ForeignKeyConstraint(
        ["realm_id", "client"], ["clients.realm_id", "clients.id"], ondelete="CASCADE"
    ),
    Index(None, "realm_id", "client"),
)


denied_certificates = Table(
    "denied_certificates",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Name, primary_key=True, comment="thumbprint, or digest of issuer and serial"),
    Column("issuer", DISTINGUISHED_NAME, comment="null for a thumbprint"),
    Column("serial", HEXADECIMAL, comment="hexadecimal; null for a thumbprint"),
    Column("reason", Name),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant),
    Index(None, "expires_at"),
)


seen_certificates = Table(
    "seen_certificates",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Name, primary_key=True, comment="x5t#S256"),
    Column("names", Name, nullable=False, comment="digest of issuer and subject"),
    Column("subject", Text, nullable=False),
    Column("issuer", Text, nullable=False),
    Column("begins_at", Instant, nullable=False),
    Column("watched_from", Instant, nullable=False, comment="the last third of its lifetime"),
    Column("expires_at", Instant, nullable=False),
    Column("last_seen_at", Instant, nullable=False, comment="beginning of the day"),
    Column("client", Text, comment="public name of the client that used it last"),
    Column("user_id", Text, comment="of the user that used it last"),
    Column("serial", HEXADECIMAL, comment="hexadecimal"),
    Column("alternative_names", Text, comment="JSON: names by kind"),
    Column("first_seen_at", Instant),
    Column("last_token_at", Instant, comment="beginning of the hour"),
    Index(None, "realm_id", "names", "expires_at"),
    Index(None, "realm_id", "last_seen_at"),
    Index(None, "expires_at"),
)

expiry_notices = Table(
    "expiry_notices",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Name, primary_key=True, comment="of what expires"),
    Column("days", Integer, primary_key=True, comment="ahead of its end"),
    Column("expires_at", Instant, nullable=False),
    Column("noticed_at", Instant, nullable=False, comment="when the mail was queued"),
    Index(None, "realm_id", "noticed_at"),
    Index(None, "expires_at"),
)


sites = Table(
    "sites",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("document", Document, nullable=False),
)

site_hosts = Table(
    "site_hosts",
    metadata,
    Column("host", Name, primary_key=True, comment="of one site of all realms"),
    Column("realm_id", Name, nullable=False),
    Column("site", Name, nullable=False, comment="its name"),
    ForeignKeyConstraint(
        ["realm_id", "site"], ["sites.realm_id", "sites.name"], ondelete="CASCADE"
    ),
    Index(None, "realm_id", "site"),
)
