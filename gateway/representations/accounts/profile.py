"""The own profile as users read and send it. Keycloak: 17.2."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.user_profile.findings import Violation
from gateway.domain.user_profile.profile import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    ROOTS,
    USERNAME,
    UserProfile,
    Values,
)
from gateway.domain.users import User
from gateway.representations.field_table import parse_fields
from gateway.representations.refusals import raise_all, require_known
from gateway.representations.shapes import Flag, Shape, Text, TextLists, VerbatimObject

_ATTRIBUTES: Final = "attributes"
_TEXTS: Final = (USERNAME, FIRST_NAME, LAST_NAME, EMAIL)
_SHAPES: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(_TEXTS, Text()),
    _ATTRIBUTES: TextLists(singles=True),
}
_IGNORED: Final[Mapping[str, Shape]] = {
    "id": Text(),
    **dict.fromkeys(("emailVerified", "enabled"), Flag()),
    "userProfileMetadata": VerbatimObject(),
}
"""Fields whose type alone is checked: users do not change them."""
_REQUIRED: Final = "error-user-attribute-required"
_NO_USERNAME: Final = "missingUsernameMessage"
"""What Keycloak calls a user name that is required."""
_READ_ONLY: Final = "error-user-attribute-read-only"
_TAKEN: Final = frozenset({"usernameExistsMessage", "emailExistsMessage"})


@dataclass(frozen=True, slots=True)
class OwnValues:
    """The values of a document by name of the attribute.

    `with_attributes` tells that it names all attributes that the profile does not have.
    """

    values: Values
    with_attributes: bool = False


def parse_own_profile(document: Mapping[str, Any]) -> OwnValues:
    """Return what was sent; raises UnknownField and InvalidInput."""
    fields = {**_SHAPES, **_IGNORED}
    require_known(document, fields, "UserRepresentation")
    errors: list[FieldError] = []
    read = parse_fields(document, fields, "", errors)
    raise_all(errors)
    attributes = read.get(_ATTRIBUTES, {})
    listed = {name: values for name, values in attributes.items() if name not in {USERNAME, EMAIL}}
    texts = {name: (read[name],) for name in _TEXTS if name in read}
    return OwnValues(listed | texts, with_attributes=_ATTRIBUTES in read)


def render_own_profile(
    user: User, values: Values, metadata: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the JSON object of a user with the values that the user is shown."""
    document: dict[str, Any] = {"id": user.id}
    document |= {name: values[name][0] for name in _TEXTS if values.get(name)}
    document["emailVerified"] = user.email_verified
    others = {name: list(texts) for name, texts in values.items() if name not in ROOTS}
    if others:
        document[_ATTRIBUTES] = others
    if metadata is not None:
        document["userProfileMetadata"] = metadata
    return document


def render_violations(violations: Iterable[Violation], rules: UserProfile) -> dict[str, Any]:
    """Return the answer to values that the profile refuses; messages name attributes by label."""
    errors = [_error(one, rules) for one in _spelled_out(violations)]
    return {**(errors[0] if len(errors) == 1 else {}), "errors": errors}


def is_conflict(violations: Iterable[Violation]) -> bool:
    """Tell whether another user has the name or the address."""
    return any(one.message in _TAKEN for one in violations)


def _spelled_out(violations: Iterable[Violation]) -> Sequence[Violation]:
    """Return the violations; Keycloak has a second one for the user name."""
    found = list(violations)
    if any(one.field == USERNAME and one.message == _READ_ONLY for one in found):
        found.append(Violation(USERNAME, "readOnlyUsernameMessage", (USERNAME,)))
    return found


def _error(violation: Violation, rules: UserProfile) -> dict[str, Any]:
    attribute = rules.attributes.get(violation.field)
    label = violation.field if attribute is None else attribute.display.label or attribute.name
    unnamed = violation.field == USERNAME and violation.message == _REQUIRED
    named, *others = violation.parameters or (violation.field,)
    parameters = [label if named == violation.field else named, *others]
    return {
        "field": violation.field,
        "errorMessage": _NO_USERNAME if unnamed else violation.message,
        "params": [_text(parameter) for parameter in parameters],
    }


def _text(parameter: object) -> str | None:
    """Return a parameter as text; None, such as a limit that is not set, stays null."""
    if parameter is None:
        return None
    return ", ".join(parameter) if isinstance(parameter, tuple) else str(parameter)
