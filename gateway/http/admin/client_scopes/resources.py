"""Every row of the table about scopes: client scopes, mappers, scope mappings, evaluation."""

from gateway.admin.client_scopes import ClientScopeAdministration, ScopeEvaluation
from gateway.admin.clients import ClientUseCases, OwnerKind
from gateway.domain.ports.storage.role_catalogue import Holding
from gateway.http.admin.client_scopes import (
    evaluate_scopes,
    handlers,
    protocol_mappers,
    scope_mappings,
)
from gateway.http.admin.operations import Operation
from gateway.http.realm_endpoint import RealmContext


def scope_operations(
    scopes: ClientScopeAdministration,
    clients: ClientUseCases,
    evaluation: ScopeEvaluation,
    context: RealmContext,
) -> tuple[Operation, ...]:
    """Return the rows."""
    mappers = (
        protocol_mappers.ProtocolMappersHandlers(clients.protocol_mappers, kind)
        for kind in OwnerKind
    )
    mappings = (
        scope_mappings.ScopeMappingsHandlers(clients.scope_mappings, kind)
        for kind in (Holding.CLIENT, Holding.CLIENT_SCOPE)
    )
    return (
        *handlers.operations(
            handlers.ClientScopesHandlers(scopes),
            handlers.ScopesOfClientHandlers(clients.scope_assignment),
        ),
        *protocol_mappers.operations(*mappers),
        *scope_mappings.operations(*mappings),
        *evaluate_scopes.operations(evaluate_scopes.EvaluateScopesHandlers(evaluation, context)),
    )
