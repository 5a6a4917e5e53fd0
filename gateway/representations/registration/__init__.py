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
