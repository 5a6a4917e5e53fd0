"""Every row of the table about scopes: client scopes, mappers, scope mappings, evaluation."""

from dataclasses import dataclass

from gateway.admin.access import Changes
from gateway.admin.client_scopes import ClientScopeAdministration
from gateway.admin.clients import (
    ClientScopeAssignment,
    OwnerKind,
    ProtocolMapperAdministration,
    ScopeMappingAdministration,
)
from gateway.domain.ports.storage import Database
from gateway.domain.ports.storage.role_catalogue import Holding
from gateway.http.admin.client_scopes import (
    evaluate_scopes,
    protocol_mappers,
    scope_mappings,
)
from gateway.http.admin.client_scopes import (
    handlers as client_scopes,
)
from gateway.http.admin.operations import Operation
from gateway.http.realm_endpoint import RealmContext
from gateway.protocol.scope_evaluation import ScopeEvaluation
from gateway.protocol.scopes import check_mapper


@dataclass(frozen=True, slots=True)
class ScopeParts:
    """What the handlers are made of."""

    database: Database
    changes: Changes
    context: RealmContext


def scope_operations(parts: ScopeParts) -> tuple[Operation, ...]:
    """Return the rows."""
    database, changes = parts.database, parts.changes
    mappers = ProtocolMapperAdministration(database, changes, check_mapper)
    mappings = ScopeMappingAdministration(database, changes)
    evaluation = ScopeEvaluation(database, parts.context.directory)
    return (
        *client_scopes.operations(
            client_scopes.ClientScopesHandlers(ClientScopeAdministration(database, changes)),
            client_scopes.ScopesOfClientHandlers(ClientScopeAssignment(database, changes)),
        ),
        *protocol_mappers.operations(
            *(protocol_mappers.ProtocolMappersHandlers(mappers, kind) for kind in OwnerKind)
        ),
        *scope_mappings.operations(
            *(
                scope_mappings.ScopeMappingsHandlers(mappings, kind)
                for kind in (Holding.CLIENT, Holding.CLIENT_SCOPE)
            )
        ),
        *evaluate_scopes.operations(
            evaluate_scopes.EvaluateScopesHandlers(evaluation, parts.context)
        ),
    )
