"""Every row of the table that is about a realm itself, and what answers it. Keycloak: 7.1."""

from collections.abc import Collection
from dataclasses import dataclass

from gateway.admin.access import Changes, RealmCaches
from gateway.admin.clients import ClientAdministration, ClientPolicies
from gateway.admin.groups import DefaultGroups
from gateway.admin.realm_files import PartialExport, PartialImport, RealmCreation
from gateway.admin.realms import RealmChanges, RealmListing
from gateway.admin.sessions import RealmSessions
from gateway.admin.users import NewPasswords
from gateway.domain.clock import Clock
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.http.admin.clients import ClientPolicyHandlers
from gateway.http.admin.groups import DefaultGroupHandlers
from gateway.http.admin.operations import Operation
from gateway.http.admin.realms import handlers as realms
from gateway.http.admin.realms.caches import CacheHandlers
from gateway.http.admin.realms.fixed_lists import fixed_lists
from gateway.http.admin.realms.partial_import import PartialHandlers
from gateway.http.admin.sessions import SessionHandlers
from gateway.policies.candidate import PasswordBlacklists
from gateway.protocol.scopes import check_mapper


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
        *fixed_lists(),
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
