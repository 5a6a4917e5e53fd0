"""Every row of the table that is about a realm itself, and what answers it. Keycloak: 7.1."""

from collections.abc import Collection
from dataclasses import dataclass

from gateway.admin.changes import Changes
from gateway.admin.client_administration import ClientAdministration
from gateway.admin.client_policies import ClientPolicies
from gateway.admin.default_groups import DefaultGroups
from gateway.admin.new_passwords import NewPasswords
from gateway.admin.partial_export import PartialExport
from gateway.admin.partial_import import PartialImport
from gateway.admin.realm_caches import RealmCaches
from gateway.admin.realm_changes import RealmChanges
from gateway.admin.realm_creation import RealmCreation
from gateway.admin.realm_listing import RealmListing
from gateway.admin.realm_sessions import RealmSessions
from gateway.domain.clock import Clock
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.http.admin import realm_leftovers, realms
from gateway.http.admin.client_policies import ClientPolicyHandlers
from gateway.http.admin.default_groups import DefaultGroupHandlers
from gateway.http.admin.operations import Operation
from gateway.http.admin.partial_import import PartialHandlers
from gateway.http.admin.realm_caches import CacheHandlers
from gateway.http.admin.realm_sessions import SessionHandlers
from gateway.policies.candidate import PasswordBlacklists
from gateway.protocol.mapper_checks import check_mapper


@dataclass(frozen=True, slots=True)
class RealmParts:
    """What the endpoints of realms work with."""

    database: Database
    changes: Changes
    clock: Clock
    keys: KeyFactory
    passwords: PasswordHasher
    blacklists: PasswordBlacklists
    online_sessions: OnlineSessionStore
    login_failures: LoginFailureStore
    listeners: Collection[str]


def realm_operations(parts: RealmParts) -> tuple[Operation, ...]:
    """Return the rows."""
    database, changes = parts.database, parts.changes
    sessions = RealmSessions(database, changes, parts.online_sessions)
    return (
        *realms.operations(_realms(parts)),
        *SessionHandlers(sessions).operations(),
        *CacheHandlers(RealmCaches(changes)).operations(),
        *DefaultGroupHandlers(DefaultGroups(database, changes)).operations(),
        *ClientPolicyHandlers(ClientPolicies(database, changes)).operations(),
        *_partial(parts).operations(),
        *realm_leftovers.operations(),
    )


def _realms(parts: RealmParts) -> realms.RealmsHandlers:
    creation = RealmCreation(
        database=parts.database,
        changes=parts.changes,
        keys=parts.keys,
        passwords=parts.passwords,
        gate=NewPasswords(parts.clock, parts.blacklists),
        clock=parts.clock,
    )
    changes = RealmChanges(
        database=parts.database,
        changes=parts.changes,
        keys=parts.keys,
        clock=parts.clock,
        online_sessions=parts.online_sessions,
        login_failures=parts.login_failures,
        listeners=parts.listeners,
    )
    return realms.RealmsHandlers(RealmListing(parts.database), creation, changes)


def _partial(parts: RealmParts) -> PartialHandlers:
    imports = PartialImport(
        changes=parts.changes,
        clients=ClientAdministration(
            parts.changes, parts.clock, parts.online_sessions, check_mapper, parts.keys
        ),
        passwords=parts.passwords,
        gate=NewPasswords(parts.clock, parts.blacklists),
        online_sessions=parts.online_sessions,
    )
    return PartialHandlers(PartialExport(parts.database), imports)
