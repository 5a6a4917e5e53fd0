"""The rows of the table that tell of clients, and what answers them. Keycloak: 7.3."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.admin.access import Changes
from gateway.admin.clients import (
    ClientAccounts,
    ClientAdministration,
    ClientCertificates,
    ClientInstallation,
    ClientListing,
    ClientNodes,
    ClientSecrets,
)
from gateway.admin.registration import ClientRegistrationTokens, InitialAccesses, RegistrationTokens
from gateway.admin.sessions import ClientSessions
from gateway.domain.clock import Clock
from gateway.domain.ports.client_keys import ClientKeys
from gateway.domain.ports.directory import Directory
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.http.admin.clients import (
    certificates as client_certificates,
)
from gateway.http.admin.clients import (
    handlers as clients,
)
from gateway.http.admin.clients import (
    installation as client_installation,
)
from gateway.http.admin.clients import (
    registration_tokens as client_registration_tokens,
)
from gateway.http.admin.clients import (
    secrets as client_secrets,
)
from gateway.http.admin.clients import (
    sessions as client_sessions,
)
from gateway.http.admin.operations import Operation
from gateway.protocol.scopes import check_mapper


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
