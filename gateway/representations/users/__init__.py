"""JSON of users and credentials."""

from gateway.representations.users.credentials import (
    CREDENTIAL_FIELDS,
    FORMER_PASSWORD,
    PASSWORD,
    PASSWORD_TYPES,
    NewPassword,
    listed_credential,
    parse_credentials,
    parse_label,
    parse_new_password,
    render_credential,
)
from gateway.representations.users.user import (
    USER_TABLE,
    UserInput,
    brief_user,
    full_user,
    parse_user,
    parse_user_input,
    render_user,
    require_storable,
    with_metadata,
)
