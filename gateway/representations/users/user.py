"""Users: Keycloak's JSON, or its snake_case, to a `User` and back.

Credentials, roles and groups are sent with a user and stand elsewhere.
Keycloak: UserRepresentation
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from gateway.domain.errors import FieldError
from gateway.domain.users import User, canonical_name
from gateway.representations.field_table import FieldTable, Kept, Setting, absent
from gateway.representations.instants import Milliseconds
from gateway.representations.names import UrlName, VisibleName
from gateway.representations.refusals import join, raise_all, refused
from gateway.representations.shapes import Count, Flag, Same, Shape, Text, TextList
from gateway.representations.text_lists import TextLists

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


def _empty(value: Mapping[str, Any]) -> bool:
    return not value


def _own(
    name: str,
    attribute: str,
    shape: Shape,
    hidden: Callable[[Any], bool] = absent,
    *,
    public: bool = False,
) -> Setting:
    return Setting(name, None, attribute, shape, hidden, public)


USER_TABLE = FieldTable(
    (
        _own("id", "id", UrlName(), public=True),
        _own("username", "username", Username(), public=True),
        _own("firstName", "first_name", Text(most=255), public=True),
        _own("lastName", "last_name", Text(most=255), public=True),
        _own("email", "email", EmailAddress(), public=True),
        _own("emailVerified", "email_verified", Flag()),
        _own("attributes", "attributes", TextLists(), hidden=_empty),
        _own("enabled", "enabled", Flag()),
        _own("createdTimestamp", "created_at", Milliseconds(), public=True),
        Kept("federationLink", None, Text(most=255), public=True),
        _own("requiredActions", "required_actions", TextList(), public=True),
        _own("notBefore", "not_before", Count(unit="seconds since 1970")),
    ),
    beside=(
        "access",
        "clientConsents",
        "clientRoles",
        "credentials",
        "disableableCredentialTypes",
        "federatedIdentities",
        "groups",
        "origin",
        "realmRoles",
        "self",
        "serviceAccountClientId",
        "totp",
        "userProfileMetadata",
    ),
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
