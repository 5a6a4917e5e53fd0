"""Users: Keycloak's JSON, or its snake_case, to a `User` and back.

Credentials, roles and groups are sent with a user and stand elsewhere. Of what an administrator
sends, the shape alone is checked here: the profile of the realm checks the values, and roles,
identity providers and consents are ignored, as in Keycloak.
Keycloak: UserRepresentation, a strict decoder
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from gateway.domain.errors import FieldError
from gateway.domain.user_profile.merging import Sent
from gateway.domain.user_profile.profile import EMAIL, FIRST_NAME, LAST_NAME, USERNAME
from gateway.domain.users import SERVICE_ACCOUNT_PREFIX, Credential, User, canonical_name
from gateway.representations.field_table import FieldTable, Given, Setting, StoredOnly, parse_given
from gateway.representations.groups import parse_group_paths
from gateway.representations.names import PrintableName, UrlName, VisibleName
from gateway.representations.refusals import attempt, join, mistyped, raise_all, refused
from gateway.representations.shapes import (
    Count,
    Flag,
    Milliseconds,
    Shape,
    Text,
    TextList,
    TextLists,
    Verbatim,
    VerbatimList,
    VerbatimObject,
)
from gateway.representations.users.credentials import NewPassword, parse_credentials


class UserAttributes(TextLists):
    """The attributes of a user; empty values of other types are an empty object."""

    def read(self, value: Any, path: str) -> dict[str, tuple[str, ...]]:
        if value in ("", 0, []):
            return {}
        if isinstance(value, Mapping):
            value = {name: [] if item == {} else item for name, item in value.items()}
        return TextLists.read(self, value, path)


_NAMES: Final = (USERNAME, EMAIL)
"""What counts where it stands in the user itself alone, not among its attributes."""
_TEXTS: Final = (*_NAMES, FIRST_NAME, LAST_NAME)
_SHAPES: Final[Mapping[str, Shape]] = {
    "attributes": UserAttributes(singles=True),
    "createdTimestamp": Milliseconds(),
    "emailVerified": Flag(),
    "enabled": Flag(),
    "requiredActions": TextList(Text(most=255)),
    **dict.fromkeys(_TEXTS, Text()),
}
_IGNORED: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("access", "applicationRoles", "clientRoles"), VerbatimObject()),
    "userProfileMetadata": VerbatimObject(),
    **dict.fromkeys(
        (
            *("clientConsents", "disableableCredentialTypes", "federatedIdentities"),
            *("realmRoles", "socialLinks"),
        ),
        VerbatimList(),
    ),
    **dict.fromkeys(("origin", "self", "serviceAccountClientId"), Text()),
    "totp": Flag(),
}
"""Fields of a user that other modules read, or that are ignored."""
_UNUSED: Final[Mapping[str, Shape]] = {
    **_IGNORED,
    **dict.fromkeys(("id", "federationLink"), Text()),
    "notBefore": Count(),
}
"""Fields that an administrator may send without an effect."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LONGEST_EMAIL = 254


@dataclass(frozen=True, slots=True)
class UserInput:
    """What was sent of a user; None is what was not."""

    sent: Sent
    enabled: bool | None = None
    email_verified: bool | None = None
    required_actions: tuple[str, ...] | None = None
    created_at: datetime | None = None
    credentials: tuple[NewPassword | Credential, ...] = ()
    groups: tuple[str, ...] = ()
    """By path."""


class Username(Verbatim):
    """A user name; neither capitals nor the composition of accents make a difference.

    It has no spaces, except where a service account is named after a client that has some.
    """

    def read(self, value: Any, path: str) -> str:
        if isinstance(value, str) and value.lower().startswith(SERVICE_ACCOUNT_PREFIX):
            of_client = value[len(SERVICE_ACCOUNT_PREFIX) :]
            return canonical_name(SERVICE_ACCOUNT_PREFIX + PrintableName().read(of_client, path))
        return VisibleName().read(canonical_name(VisibleName().read(value, path)), path)


class EmailAddress(Verbatim):
    """An e-mail address in lower case; an empty one takes the address away."""

    def read(self, value: Any, path: str) -> str | None:
        if value == "":
            return None
        text = Text(most=_LONGEST_EMAIL).read(value, path)
        if not text.isprintable() or not _EMAIL.fullmatch(text):
            raise refused(path, value, "an e-mail address")
        return canonical_name(text)


USER_TABLE = FieldTable(
    (
        Setting("id", "id", UrlName(), public=True),
        Setting("username", "username", Username(), public=True),
        Setting("firstName", "first_name", Text(most=255), public=True),
        Setting("lastName", "last_name", Text(most=255), public=True),
        Setting("email", "email", EmailAddress(), public=True),
        Setting("emailVerified", "email_verified", Flag()),
        Setting("attributes", "attributes", TextLists(singles=True), omit_empty=True),
        Setting("enabled", "enabled", Flag()),
        Setting("createdTimestamp", "created_at", Milliseconds(), public=True),
        StoredOnly("federationLink", None, Text(most=255), public=True),
        Setting("requiredActions", "required_actions", TextList(), public=True),
        Setting("notBefore", "not_before", Count(unit="seconds since 1970")),
    ),
    beside=("credentials", "groups"),
    ignored=_IGNORED,
)


_BRIEF: Final = frozenset(
    {
        *("id", "username", "firstName", "lastName", "email", "emailVerified", "enabled"),
        *("createdTimestamp", "federationLink"),
    }
)


def parse_user(
    document: Mapping[str, Any],
    realm_id: str,
    *,
    now: datetime,
    base: User | None = None,
    path: str = "",
) -> User:
    """Return the user that `document` describes, created at `now` unless the document has a time.

    Without `base`, what is absent or null takes the creation default, the id a new UUID. With
    `base`, it stays as it is there, id and creation always. Raises InvalidInput.
    """
    if not isinstance(document, Mapping):
        raise mistyped(path or "user", document, "an object")
    errors: list[FieldError] = []
    given = USER_TABLE.collect(document, path, errors)
    if base is None and "username" not in given:
        errors.append(FieldError(join(path, "username"), "nothing", "a user name"))
    before = base or User(
        id=str(uuid4()), realm_id=realm_id, username="", enabled=False, created_at=now
    )
    updates = USER_TABLE.read_settings(given, errors)
    kept = USER_TABLE.read_kept(given, before.document, errors)
    raise_all(errors)
    user = USER_TABLE.updated(before, updates)
    unchanging = base or user
    return replace(user, id=unchanging.id, created_at=unchanging.created_at, document=kept)


def render_user(user: User) -> dict[str, Any]:
    """Return the JSON object of `user`, keys in Keycloak's order, unknown ones last."""
    return USER_TABLE.answer(user, user.document)


def brief_user(user: User) -> dict[str, Any]:
    """Return the brief form of a listing."""
    return {name: value for name, value in render_user(user).items() if name in _BRIEF}


def with_metadata(document: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole user with the metadata of its forms, where Keycloak puts it."""
    answer: dict[str, Any] = {}
    for name, value in document.items():
        answer[name] = value
        if name == "emailVerified":
            answer["userProfileMetadata"] = metadata
    return answer


def full_user(user: User, *, totp: bool) -> dict[str, Any]:
    """Return the whole user; `totp` is whether it has a one-time password."""
    answer: dict[str, Any] = {}
    for name, value in render_user(user).items():
        if name == "requiredActions":
            answer["disableableCredentialTypes"] = []
        answer[name] = value
        if name == "createdTimestamp":
            answer["totp"] = totp
    return answer


def parse_user_input(document: Mapping[str, Any], now: datetime) -> UserInput:
    """Return what was sent; raises InvalidInput with every wrong field, and UnknownField."""
    USER_TABLE.require_known(document, "UserRepresentation")
    errors: list[FieldError] = []
    given = USER_TABLE.collect(document, "", errors)
    read = parse_given(given, _SHAPES, errors)
    texts: dict[str, str] = {name: read[name] for name in _TEXTS if name in read}
    groups = attempt(errors, (), _read_groups, given)
    credentials = attempt(errors, (), _read_credentials, given, now)
    parse_given(given, _UNUSED, errors)
    raise_all(errors)
    return UserInput(
        sent=Sent(_values(texts, read.get("attributes") or {}), whole="attributes" in read),
        enabled=read.get("enabled"),
        email_verified=read.get("emailVerified"),
        required_actions=read.get("requiredActions"),
        created_at=read.get("createdTimestamp"),
        credentials=credentials,
        groups=groups,
    )


def require_storable(user: User) -> None:
    """Raise InvalidInput for names and addresses that no profile may accept."""
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
        raise mistyped(at, value, "a list of paths of groups")
    paths = [
        item if not isinstance(item, str) or item.startswith("/") else f"/{item}" for item in value
    ]
    return parse_group_paths(paths, at)


def _read_credentials(given: Given, now: datetime) -> tuple[NewPassword | Credential, ...]:
    at, value = given.get("credentials", ("", None))
    if value is None:
        return ()
    standard = Credential("-", "", "password", now, "", "")
    return parse_credentials(value, at, owner="", standard=standard)
