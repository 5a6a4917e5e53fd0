"""JSON of dynamic client registration. Spec: RFC 7591."""

from gateway.representations.registration.descriptions import convert_description
from gateway.representations.registration.initial_access import (
    InitialAccess,
    parse_initial_access,
    render_initial_access,
    restore_initial_access,
    stored_initial_access,
)
from gateway.representations.registration.openid import (
    BASIC_SCOPE,
    client_of_metadata,
    parse_metadata,
    requested_scopes,
)
from gateway.representations.registration.openid_answer import Registered, render_metadata
from gateway.representations.registration.policies import (
    ALLOWED_MAPPERS,
    ALLOWED_SCOPES,
    ANONYMOUS,
    AUTHENTICATED,
    DEFAULT_SCOPES,
    MAX_CLIENTS,
    POLICY_PROVIDERS,
    POLICY_TYPE,
    SENDER_MUST_MATCH,
    TRUSTED_HOSTS,
    URIS_MUST_MATCH,
    checked_config,
    default_policies,
    described_policies,
    is_on,
    policies_in,
    policy_document,
    single_value,
)
