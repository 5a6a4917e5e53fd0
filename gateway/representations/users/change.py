"""Users as an administrator sends them: the changes of one, checked by their shape alone.

The profile of the realm checks the values. Roles, identity providers and consents are ignored, as
Keycloak does here. Keycloak: UserRepresentation, a strict decoder
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.user_profile.merging import Sent
from gateway.domain.user_profile.profile import EMAIL, FIRST_NAME, LAST_NAME, USERNAME
from gateway.domain.users import Credential, User, canonical_name
from gateway.representations.field_table import Given, read_given
from gateway.representations.groups import read_group_paths
from gateway.representations.refusals import attempt, raise_all, refused
from gateway.representations.shapes import Flag, Milliseconds, Shape, Text, TextList, TextLists
from gateway.representations.users.credentials import NewPassword, read_credentials
from gateway.representations.users.user import USER_TABLE, EmailAddress, Username

_NAMES: Final = (USERNAME, EMAIL)
"""What counts where it stands in the user itself alone, not among its attributes."""
_TEXTS: Final = (*_NAMES, FIRST_NAME, LAST_NAME)
_SHAPES: Final[Mapping[str, Shape]] = {
    "attributes": TextLists(),
    "createdTimestamp": Milliseconds(),
    "emailVerified": Flag(),
    "enabled": Flag(),
    "requiredActions": TextList(Text(most=255)),
    **dict.fromkeys(_TEXTS, Text()),
}
_LISTS: Final = (
    "clientConsents",
    "disableableCredentialTypes",
    "federatedIdentities",
    "realmRoles",
)


@dataclass(frozen=True, slots=True)
class GivenUser:
    """What was sent of a user; None is what was not."""

    sent: Sent
    enabled: bool | None = None
    email_verified: bool | None = None
    required_actions: tuple[str, ...] | None = None
    created_at: datetime | None = None
    credentials: tuple[NewPassword | Credential, ...] = ()
    groups: tuple[str, ...] = ()
    """By path."""


def read_given_user(document: Mapping[str, Any], now: datetime) -> GivenUser:
    """Return what was sent; raises InvalidInput with every wrong field, and UnknownField."""
    USER_TABLE.require_known(document, "UserRepresentation")
    errors: list[FieldError] = []
    given = USER_TABLE.collect(document, "", errors)
    read = read_given(given, _SHAPES, errors)
    texts: dict[str, str] = {name: read[name] for name in _TEXTS if name in read}
    groups = attempt(errors, (), _read_groups, given)
    credentials = attempt(errors, (), _read_credentials, given, now)
    errors += [
        FieldError(given[name][0], "something else", "a list")
        for name in _LISTS
        if name in given and not isinstance(given[name][1], list)
    ]
    raise_all(errors)
    return GivenUser(
        sent=Sent(_values(texts, read.get("attributes") or {}), whole="attributes" in read),
        enabled=read.get("enabled"),
        email_verified=read.get("emailVerified"),
        required_actions=read.get("requiredActions"),
        created_at=read.get("createdTimestamp"),
        credentials=credentials,
        groups=groups,
    )


def require_storable(user: User) -> None:
    """Raise InvalidInput for names and addresses that no profile may let through."""
    errors: list[FieldError] = []
    attempt(errors, None, Username().read, user.username, USERNAME)
    if user.email is not None:
        attempt(errors, None, EmailAddress().read, user.email, EMAIL)
    for name, text in ((FIRST_NAME, user.first_name), (LAST_NAME, user.last_name)):
        if text is not None:
            attempt(errors, None, Text(most=255).read, text, name)
    raise_all(errors)


def _values(
    texts: Mapping[str, str], attributes: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    own = {
        name: (canonical_name(text) if name in _NAMES else text,) for name, text in texts.items()
    }
    return {name: values for name, values in attributes.items() if name not in _NAMES} | own


def _read_groups(given: Given) -> tuple[str, ...]:
    """Return the paths, which may lack the slash at the beginning."""
    at, value = given.get("groups", ("", None))
    if value is None:
        return ()
    if not isinstance(value, list):
        raise refused(at, value, "a list of paths of groups")
    paths = [
        item if not isinstance(item, str) or item.startswith("/") else f"/{item}" for item in value
    ]
    return read_group_paths(paths, at)


def _read_credentials(given: Given, now: datetime) -> tuple[NewPassword | Credential, ...]:
    at, value = given.get("credentials", ("", None))
    if value is None:
        return ()
    standard = Credential("-", "", "password", now, "", "")
    return read_credentials(value, at, owner="", standard=standard)
