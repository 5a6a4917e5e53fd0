"""Every row of the table about scopes: client scopes, mappers, scope mappings, evaluation."""

from gateway.admin.client_scopes import ClientScopeAdministration
from gateway.admin.clients import ClientUseCases, OwnerKind
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


def scope_operations(
    scopes: ClientScopeAdministration,
    clients: ClientUseCases,
    evaluation: ScopeEvaluation,
    context: RealmContext,
) -> tuple[Operation, ...]:
    """Return the rows."""
    mappers, mappings = clients.protocol_mappers, clients.scope_mappings
    return (
        *client_scopes.operations(
            client_scopes.ClientScopesHandlers(scopes),
            client_scopes.ScopesOfClientHandlers(clients.scope_assignment),
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
        *evaluate_scopes.operations(evaluate_scopes.EvaluateScopesHandlers(evaluation, context)),
    )
