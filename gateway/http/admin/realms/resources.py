"""Every row of the table about a realm itself. Keycloak: 7.1."""

from gateway.admin.access import RealmCaches
from gateway.admin.clients import ClientPolicies
from gateway.admin.groups import DefaultGroups
from gateway.admin.realm_files import RealmFileUseCases
from gateway.admin.realms import RealmUseCases
from gateway.admin.sessions import RealmSessions
from gateway.http.admin.clients import ClientPolicyHandlers
from gateway.http.admin.groups import DefaultGroupHandlers
from gateway.http.admin.operations import Operation
from gateway.http.admin.realms import handlers as realms
from gateway.http.admin.realms.caches import CacheHandlers
from gateway.http.admin.realms.fixed_lists import fixed_lists
from gateway.http.admin.realms.partial_import import PartialHandlers
from gateway.http.admin.sessions import SessionHandlers


def realm_operations(
    use_cases: RealmUseCases,
    files: RealmFileUseCases,
    *,
    sessions: RealmSessions,
    caches: RealmCaches,
    default_groups: DefaultGroups,
    client_policies: ClientPolicies,
) -> tuple[Operation, ...]:
    """Return the rows."""
    handlers = realms.RealmsHandlers(use_cases.listing, files.creation, use_cases.changes)
    return (
        *realms.operations(handlers),
        *SessionHandlers(sessions).operations(),
        *CacheHandlers(caches).operations(),
        *DefaultGroupHandlers(default_groups).operations(),
        *ClientPolicyHandlers(client_policies).operations(),
        *PartialHandlers(files.partial_export, files.partial_import).operations(),
        *fixed_lists(),
    )
