"""JSON of client scopes."""

from gateway.representations.client_scopes.client_scope import (
    CLIENT_SCOPE_TABLE,
    SCOPE_PROTOCOLS,
    changes_reach_of_clients,
    is_scope_name,
    parse_client_scope,
    render_client_scope,
    render_reference,
    restore_client_scope,
)
from gateway.representations.client_scopes.realm_files import (
    ScopeMapping,
    ScopesInput,
    parse_realm_scopes,
)
