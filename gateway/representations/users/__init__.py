"""JSON of users and credentials."""

from gateway.representations.users.change import GivenUser, read_given_user, require_storable
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
    brief_user,
    full_user,
    read_user,
    with_metadata,
    write_user,
)
