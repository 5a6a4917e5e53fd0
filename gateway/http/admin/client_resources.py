"""The rows of the table that tell of clients, and what answers them. Keycloak: 7.3."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.admin.changes import Changes
from gateway.admin.client_accounts import ClientAccounts
from gateway.admin.client_administration import ClientAdministration
from gateway.admin.client_certificates import ClientCertificates
from gateway.admin.client_installation import ClientInstallation
from gateway.admin.client_listing import ClientListing
from gateway.admin.client_nodes import ClientNodes
from gateway.admin.client_registration_tokens import ClientRegistrationTokens
from gateway.admin.client_secrets import ClientSecrets
from gateway.admin.client_sessions import ClientSessions
from gateway.admin.initial_access import InitialAccesses
from gateway.admin.registration_tokens import RegistrationTokens
from gateway.domain.clock import Clock
from gateway.domain.ports.client_keys import ClientKeys
from gateway.domain.ports.directory import Directory
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.http.admin import (
    client_certificates,
    client_installation,
    client_registration_tokens,
    client_secrets,
    client_sessions,
    clients,
)
from gateway.http.admin.operations import Operation
from gateway.protocol.mapper_checks import check_mapper


@dataclass(frozen=True, slots=True)
class ClientParts:
    """What the endpoints of clients work with."""

    database: Database
    changes: Changes
    clock: Clock
    directory: Directory
    issuer: Callable[[str], str]
    """The issuer of the realm of a name."""
    online_sessions: OnlineSessionStore
    keys: KeyFactory
    client_keys: ClientKeys


def client_operations(parts: ClientParts) -> tuple[Operation, ...]:
    """Return the rows."""
    database, changes, clock = parts.database, parts.changes, parts.clock
    administration = ClientAdministration(
        changes, clock, parts.online_sessions, check_mapper, parts.keys
    )
    tokens = RegistrationTokens(parts.directory, parts.issuer)
    secrets = ClientSecrets(database, changes, clock)
    sessions = ClientSessions(database, parts.online_sessions)
    certificates = ClientCertificates(database, changes, parts.client_keys, clock)
    return (
        *clients.operations(clients.ClientsHandlers(ClientListing(database), administration)),
        *client_secrets.operations(
            client_secrets.ClientSecretsHandlers(secrets, ClientAccounts(database))
        ),
        *client_sessions.operations(
            client_sessions.ClientSessionsHandlers(sessions, ClientNodes(changes, clock))
        ),
        *client_certificates.operations(
            client_certificates.ClientCertificatesHandlers(certificates)
        ),
        *client_registration_tokens.operations(
            client_registration_tokens.ClientRegistrationTokensHandlers(
                ClientRegistrationTokens(changes, tokens),
                InitialAccesses(database, changes, tokens),
            )
        ),
        *client_installation.operations(
            client_installation.ClientInstallationHandlers(ClientInstallation(database))
        ),
    )
