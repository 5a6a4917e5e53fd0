"""JSON of users and credentials."""

from gateway.representations.users.credentials import (
    PASSWORD,
    NewPassword,
    listed_credential,
    read_credentials,
    read_label,
    read_new_password,
    write_credential,
)
from gateway.representations.users.user import (
    USER_TABLE,
    GivenUser,
    brief_user,
    full_user,
    read_given_user,
    read_user,
    require_storable,
    with_metadata,
    write_user,
)
