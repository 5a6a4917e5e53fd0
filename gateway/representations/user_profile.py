"""The user profile of a realm: Keycloak's JSON to the kept document and its rules; form metadata.

The document is what GET answers: members in Keycloak's order, with default values. One error lists
all reasons in Keycloak's words. A document may have any annotations, so those without use are
passed over. Keycloak: UPConfig, a strict decoder; UPConfigUtils.validate; 16.1 required actions,
UserProfileMetadata
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.patterns import LARGEST_PATTERNS, pattern_weight
from gateway.domain.profile_validators import (
    VALIDATORS,
    ValidatorConfiguration,
)
from gateway.domain.realm import LoginSettings
from gateway.domain.tables import read_table
from gateway.domain.user_profile import (
    EMAIL,
    ROOTS,
    USERNAME,
    ProfileAttribute,
    UnmanagedPolicy,
    UserProfile,
    Viewer,
    Violation,
)
from gateway.representations.refusals import join, require_known
from gateway.representations.shapes import (
    Choice,
    Flag,
    Shape,
    Text,
    TextList,
    Verbatim,
    VerbatimObject,
)

_STANDARD: Final = read_table("gateway.representations", "standard_user_profile.toml")
_PATTERN: Final = "pattern"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class _Known:
    groups: frozenset[str]
    scopes: Collection[str] | None


def wrong_about(kept: Mapping[str, Any], scopes: Collection[str] | None) -> Iterator[str]:
    """Yield the reasons why the profile cannot be used; `scopes` are names of client scopes."""
    attributes = kept["attributes"]
    if _patterns_are_too_large(attributes):
        yield "The patterns of all attributes together are too long, or have too large ranges"
        return
    names = [attribute.get("name") for attribute in attributes]
    known = _Known(frozenset(group["name"] for group in kept["groups"] if "name" in group), scopes)
    for index, attribute in enumerate(attributes):
        if not attribute.get("name", "").strip():
            yield "Attribute configuration without 'name' is not allowed"
            continue
        if attribute["name"] in names[:index]:
            yield f"Attribute configuration already exists with 'name':'{attribute['name']}'"
        yield from _wrong(attribute, known)
    for name in (USERNAME, EMAIL):
        if name not in names:
            yield f"The attribute '{name}' can not be removed"
    nameless = sum(not group.get("name", "").strip() for group in kept["groups"])
    if nameless:
        yield f"Name is mandatory for groups, found {nameless} group(s) without name."


def _patterns_are_too_large(attributes: Iterable[Mapping[str, Any]]) -> bool:
    patterns = [
        text
        for attribute in attributes
        for values in attribute.get("validations", {}).values()
        if isinstance(text := values.get(_PATTERN), str)
    ]
    if sum(map(len, patterns)) > LARGEST_PATTERNS:  # before any is parsed
        return True
    return sum(map(pattern_weight, patterns)) > LARGEST_PATTERNS


def _wrong(attribute: Mapping[str, Any], known: _Known) -> Iterator[str]:
    name = attribute["name"]
    if not _NAME.fullmatch(name):
        yield (
            "Invalid attribute name (only letters, numbers and '.' '_' '-' special characters "
            f"allowed): {name}'"
        )
    for part in ("view", "edit"):
        given = attribute.get("permissions", {}).get(part, ())
        yield from _unsupported(f"permissions.{part}", name, given, "role", frozenset(Viewer))
    required = attribute.get("required", {})
    given = required.get("roles", ())
    yield from _unsupported("required.roles", name, given, "role", frozenset(Viewer))
    given = required.get("scopes", ())
    yield from _unsupported("required.scopes", name, given, "scope", known.scopes)
    given = attribute.get("selector", {}).get("scopes", ())
    yield from _unsupported("selector.scopes", name, given, "scope", known.scopes)
    group = attribute.get("group")
    if group is not None and group not in known.groups:
        yield f"Attribute '{name}' references unknown group '{group}'"
    for kind, values in attribute.get("validations", {}).items():
        yield from _unusable(name, kind, values)


def _unsupported(
    setting: str, name: str, given: Iterable[str], kind: str, known: Collection[str] | None
) -> Iterator[str]:
    for item in given:
        if known is not None and item not in known:
            place = f"'{setting}' configuration for attribute '{name}'"
            yield f"{place} contains unsupported {kind} '{item}'"


def _unusable(name: str, kind: str, values: Mapping[str, Any]) -> Iterator[str]:
    validator = VALIDATORS.get(kind)
    if validator is None:
        yield f"Validator '{kind}' defined for attribute '{name}' doesn't exist"
        return
    configuration = ValidatorConfiguration(values)
    validator(configuration)
    if configuration.errors:
        reasons = "".join(
            f"ValidationError{{validatorId='{kind}', inputHint='{error.hint}', "
            f"message='{error.message}', messageParameters=[{', '.join(error.given)}]}}, "
            for error in configuration.errors
        )
        defined = f"Validator '{kind}' defined for attribute '{name}'"
        yield f"{defined} has incorrect configuration: {reasons}"


_MOST: Final = 500
_TEXT: Final = Text(most=2048)
_PERMISSIONS: Final = "permissions"


@dataclass(frozen=True, slots=True)
class _Members(Verbatim):
    """An object of known members: the members with a value, in the order of the table, as JSON."""

    representation: str
    shapes: Mapping[str, Shape]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def read(self, value: Any, path: str) -> dict[str, Any]:
        document = VerbatimObject().read(value, path)
        require_known(document, self.shapes, self.representation, path)
        given = {**self.defaults}
        # Objects within come last: errors of the plain members are reported first.
        for name, shape in sorted(self.shapes.items(), key=lambda item: _is_nested(item[1])):
            if document.get(name) is not None:
                given[name] = shape.write(shape.read(document[name], join(path, name)))
        return {name: given[name] for name in self.shapes if name in given}


def _is_nested(shape: Shape) -> bool:
    return isinstance(shape, _Members | _Validations)


class _Validations(Verbatim):
    """The configuration of each validator by name; null is an empty one."""

    def read(self, value: Any, path: str) -> dict[str, Any]:
        return {
            name: VerbatimObject().read(item or {}, join(path, name))
            for name, item in VerbatimObject().read(value, path).items()
        }


_CONFIG: Final = _Members(
    "UPConfig",
    {
        "attributes": Verbatim(),
        "groups": Verbatim(),
        "unmanagedAttributePolicy": Choice(UnmanagedPolicy),
    },
)
_NAMES: Final = TextList()
_ATTRIBUTE: Final = _Members(
    "UPAttribute",
    {
        "name": _TEXT,
        "displayName": _TEXT,
        "validations": _Validations(),
        "annotations": VerbatimObject(),
        "required": _Members("UPAttributeRequired", {"roles": _NAMES, "scopes": _NAMES}),
        _PERMISSIONS: _Members(
            *("UPAttributePermissions", {"view": _NAMES, "edit": _NAMES}),
            defaults={"view": [], "edit": []},
        ),
        "selector": _Members("UPAttributeSelector", {"scopes": _NAMES}),
        "group": _TEXT,
        "multivalued": Flag(),
        "defaultValue": _TEXT,
    },
    defaults={"multivalued": False},
)
_GROUP: Final = _Members(
    "UPGroup",
    {
        "name": _TEXT,
        "displayHeader": _TEXT,
        "displayDescription": _TEXT,
        "annotations": VerbatimObject(),
    },
)


class ProfileRefused(InvalidInput):
    """A profile that cannot be used; `str()` says why, in Keycloak's words."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__(
            tuple(FieldError("profile", reason, "a profile without it") for reason in self.reasons)
        )

    def __str__(self) -> str:
        return f"[{', '.join(self.reasons)}]"


class ProfileViolated(InvalidInput):
    """A user whose attributes the profile of the realm refuses."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__(())
        self.violations = tuple(violations)

    def __str__(self) -> str:
        return "; ".join(map(_sentence, self.violations))

    @property
    def document(self) -> dict[str, Any]:
        """The answer: one violation by itself, several as `errors`.

        Keycloak: 0.2 error bodies, family C.
        """
        found = [
            {"field": one.field, "errorMessage": one.message, "params": list(one.parameters)}
            for one in self.violations
        ]
        return found[0] if len(found) == 1 else {"errors": found}


def standard_user_profile(*, demanding: bool = True) -> dict[str, Any]:
    """Return the profile of a new realm; `demanding` requires address and names of users.

    Keycloak: 26.7, where the realm `master` requires nothing.
    """
    profile = deepcopy(_STANDARD)
    for attribute in () if demanding else profile["attributes"]:
        attribute.pop("required", None)
    return profile


def parse_user_profile(
    document: Mapping[str, Any], scopes: Collection[str] | None
) -> dict[str, Any]:
    """Return the document to be kept; `scopes` are the names of the realm's client scopes.

    None skips the check of scopes. Raises InvalidInput, ProfileRefused and UnknownField.
    """
    given = _CONFIG.read(document, "")
    lists = {
        name: [shape.read(item, at) for at, item in _objects(given.get(name), name)]
        for name, shape in (("attributes", _ATTRIBUTE), ("groups", _GROUP))
    }
    kept = {**lists, **{name: value for name, value in given.items() if name not in lists}}
    require_usable_profile(kept, scopes)
    return kept


def require_usable_profile(kept: Mapping[str, Any], scopes: Collection[str] | None) -> None:
    """Raise ProfileRefused for a document in which something is wrong."""
    reasons = tuple(wrong_about(kept, scopes))
    if reasons:
        raise ProfileRefused(reasons)


def _objects(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > _MOST:
        raise ProfileRefused([f"'{path}' is no list of at most {_MOST}"])
    yield from ((f"{path}[{index}]", item) for index, item in enumerate(value))


def _sentence(violation: Violation) -> str:
    """Return field and message, and in brackets its parameters, such as a range."""
    limits = ", ".join(str(value) for value in violation.parameters[1:] if value is not None)
    return f"{violation.field}: {violation.message}" + (f" ({limits})" if limits else "")


_EMPTY_IS_FINE: Final = {"ignore.empty.value": True}
_ONE_VALUE: Final = {"multivalued": {"max": "1"}}


def render_metadata(
    document: Mapping[str, Any],
    rules: UserProfile,
    login: LoginSettings,
    *,
    known: bool,
    viewer: Viewer = Viewer.ADMIN,
    locked: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Return the metadata that the viewer sees; `known`: of an existing user.

    `locked` are attributes that are not changed, whatever the profile says.
    """
    described = {attribute["name"]: attribute for attribute in document["attributes"]}
    return {
        "attributes": [
            _Field(attribute, login, viewer, known, locked).rendered(
                described.get(name, {"name": name})
            )
            for name, attribute in rules.attributes.items()
            if attribute.is_shown_to(viewer)
        ],
        "groups": [{**group} for group in document.get("groups", ())],
    }


@dataclass(frozen=True, slots=True)
class _Field:
    attribute: ProfileAttribute
    login: LoginSettings
    viewer: Viewer
    known: bool
    locked: frozenset[str]

    def rendered(self, described: Mapping[str, Any]) -> dict[str, Any]:
        name = self.attribute.name
        label = described.get("displayName") or (f"${{{name}}}" if name in ROOTS else name)
        optional = ("annotations", "group", "defaultValue")
        answer = {
            "name": name,
            "displayName": label,
            "required": self._is_required(),
            "readOnly": self._is_read_only(),
            "annotations": described.get("annotations"),
            "validators": _validators(described, self.attribute),
            "group": described.get("group"),
            "multivalued": described.get("multivalued", False),
            "defaultValue": described.get("defaultValue"),
        }
        return {
            key: value for key, value in answer.items() if key not in optional or value is not None
        }

    def _is_required(self) -> bool:
        required = self.attribute.required
        if self.attribute.name == USERNAME:
            return not self.login.registration_email_as_username
        if self.attribute.name == EMAIL and self.login.registration_email_as_username:
            return True
        return required is not None and required.of(self.viewer)

    def _is_read_only(self) -> bool:
        if self.attribute.name == USERNAME:
            settled = self.known and not self.login.edit_username_allowed
            may_not = self.viewer not in self.attribute.edit and self.viewer is Viewer.USER
            return settled or may_not or self.login.registration_email_as_username
        return self.attribute.name in self.locked or self.viewer not in self.attribute.edit


def _validators(described: Mapping[str, Any], attribute: ProfileAttribute) -> dict[str, Any]:
    given = {
        name: {**values, **_EMPTY_IS_FINE}
        for name, values in described.get("validations", {}).items()
    }
    return given if attribute.multivalued else _ONE_VALUE | given
