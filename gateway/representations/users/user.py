"""Users: Keycloak's JSON, or its snake_case, to a `User` and back.

Credentials, roles and groups are sent with a user and stand elsewhere.
Keycloak: UserRepresentation
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from gateway.domain.errors import FieldError
from gateway.domain.users import User, canonical_name
from gateway.representations.field_table import FieldTable, Kept, Setting
from gateway.representations.names import UrlName, VisibleName
from gateway.representations.refusals import join, raise_all, refused
from gateway.representations.shapes import (
    Count,
    Flag,
    Milliseconds,
    Same,
    Text,
    TextList,
    TextLists,
)

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LONGEST_EMAIL = 254


class Username(Same):
    """A user name; neither capitals nor the composition of accents make a difference."""

    def read(self, value: Any, path: str) -> str:
        return VisibleName().read(canonical_name(VisibleName().read(value, path)), path)


class EmailAddress(Same):
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
        Setting("attributes", "attributes", TextLists(), omit_empty=True),
        Setting("enabled", "enabled", Flag()),
        Setting("createdTimestamp", "created_at", Milliseconds(), public=True),
        Kept("federationLink", None, Text(most=255), public=True),
        Setting("requiredActions", "required_actions", TextList(), public=True),
        Setting("notBefore", "not_before", Count(unit="seconds since 1970")),
    ),
    beside=(
        *("access", "clientConsents", "clientRoles", "credentials", "disableableCredentialTypes"),
        *("federatedIdentities", "groups", "origin", "realmRoles", "self"),
        *("serviceAccountClientId", "totp", "userProfileMetadata"),
    ),
)


_BRIEF: Final = frozenset(
    {
        *("id", "username", "firstName", "lastName", "email", "emailVerified", "enabled"),
        *("createdTimestamp", "federationLink"),
    }
)


def read_user(
    document: Mapping[str, Any],
    realm_id: str,
    *,
    now: datetime,
    base: User | None = None,
    path: str = "",
) -> User:
    """Return the user that `document` describes, created at `now` unless it says when.

    Without `base`, what is absent or null takes the creation default, the id a new UUID. With
    `base`, it stays as it is there, id and creation always. Raises InvalidInput.
    """
    if not isinstance(document, Mapping):
        raise refused(path or "user", document, "an object")
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


def write_user(user: User) -> dict[str, Any]:
    """Return the JSON object of `user`, keys in Keycloak's order, unknown ones last."""
    return USER_TABLE.answer(user, user.document)


def brief_user(user: User) -> dict[str, Any]:
    """Return the brief form of a listing."""
    return {name: value for name, value in write_user(user).items() if name in _BRIEF}


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
    for name, value in write_user(user).items():
        if name == "requiredActions":
            answer["disableableCredentialTypes"] = []
        answer[name] = value
        if name == "createdTimestamp":
            answer["totp"] = totp
    return answer
