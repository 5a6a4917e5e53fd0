"""Client scopes: the built-in ones, and how administrators and realm files change them."""

from gateway.admin.client_scopes.administration import (
    LIST_CLIENTS,
    MANAGE_CLIENTS,
    VIEW_CLIENTS,
    ClientScopeAdministration,
    get_client_scope,
    with_scope_renamed,
)
from gateway.admin.client_scopes.choice import (
    ScopeChoice,
    chosen_from,
    chosen_scopes,
    inherited_from,
)
from gateway.admin.client_scopes.defaults import default_client_scopes, ensure_client_scopes
from gateway.admin.client_scopes.evaluation import (
    OF_THE_REALM,
    Evaluated,
    ExampleOf,
    ScopeEvaluation,
    TokenExample,
    in_scope,
)
from gateway.admin.client_scopes.file_import import (
    read_scopes,
    scopes_of_clients,
    store_defaults,
    store_scope_mappings,
    store_scopes,
)
