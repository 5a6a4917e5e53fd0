"""JSON of client scopes."""

from gateway.representations.client_scopes.client_scope import (
    CLIENT_SCOPE_TABLE,
    SCOPE_PROTOCOLS,
    is_scope_name,
    read_client_scope,
    restore_client_scope,
    write_client_scope,
    write_reference,
)
from gateway.representations.client_scopes.realm_files import (
    GivenScopes,
    ScopeMapping,
    read_realm_scopes,
)
