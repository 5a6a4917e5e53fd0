"""The user profile of a realm: Keycloak's JSON to the document that is kept, and to its rules.

The document is what GET answers: members in Keycloak's order, with default values. One error lists
all reasons in Keycloak's words.
Keycloak: UPConfig, a strict decoder; UPConfigUtils.validate
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Violation
from gateway.domain.user_profile.profile import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    USERNAME,
    ProfileAttribute,
    Required,
    UnmanagedPolicy,
    UserProfile,
    Viewer,
)
from gateway.domain.user_profile.validators import MULTIVALUED, VALIDATORS
from gateway.domain.user_profile.validators.counts import between
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
from gateway.representations.user_profiles.display import display_of
from gateway.representations.user_profiles.reasons import wrong_about

_MOST: Final = 500
_TEXT: Final = Text(most=2048)
_PERMISSIONS: Final = "permissions"
_NAMING: Final = frozenset({USERNAME, EMAIL})


@dataclass(frozen=True, slots=True)
class _Members(Verbatim):
    """An object of known members: those that are not null, in the order of the table, as JSON."""

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
        """The answer: one violation by itself, several as `errors`. Keycloak: 0.2, family C."""
        found = [
            {"field": one.field, "errorMessage": one.message, "params": list(one.parameters)}
            for one in self.violations
        ]
        return found[0] if len(found) == 1 else {"errors": found}


def standard_user_profile(*, demanding: bool = True) -> dict[str, Any]:
    """Return the profile of a new realm; `demanding` requires address and names of users.

    Keycloak: 26.7, where the realm `master` requires nothing.
    """
    both = {"view": ["admin", "user"], "edit": ["admin", "user"]}
    required = {"required": {"roles": ["user"]}} if demanding else {}
    person = {"length": {"max": 255}, "person-name-prohibited-characters": {}}
    username = {
        "length": {"min": 3, "max": 255},
        "username-prohibited-characters": {},
        "up-username-not-idn-homograph": {},
    }
    attributes: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        (USERNAME, username, {}),
        (EMAIL, {"email": {}, "length": {"max": 255}}, required),
        (FIRST_NAME, person, required),
        (LAST_NAME, person, required),
    )
    return {
        "attributes": [
            {
                "name": name,
                "displayName": f"${{{name}}}",
                "validations": validations,
                **demanded,
                _PERMISSIONS: both,
                "multivalued": False,
            }
            for name, validations, demanded in attributes
        ],
        "groups": [
            {
                "name": "user-metadata",
                "displayHeader": "User metadata",
                "displayDescription": "Attributes, which refer to user metadata",
            }
        ],
    }


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


def rules_of(document: Mapping[str, Any]) -> UserProfile:
    """Return the rules of a document that was kept."""
    policy = document.get("unmanagedAttributePolicy")
    attributes = (_rules_of(attribute) for attribute in document["attributes"])
    return UserProfile(
        {attribute.name: attribute for attribute in attributes},
        None if policy is None else UnmanagedPolicy(policy),
    )


def _objects(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > _MOST:
        raise ProfileRefused([f"'{path}' is no list of at most {_MOST}"])
    yield from ((f"{path}[{index}]", item) for index, item in enumerate(value))


def _rules_of(attribute: Mapping[str, Any]) -> ProfileAttribute:
    required = attribute.get("required")
    # By default everyone may change the names of a user; nothing else may be changed.
    standard = (
        {"view": tuple(Viewer), "edit": tuple(Viewer)} if attribute["name"] in _NAMING else {}
    )
    permissions = attribute.get(_PERMISSIONS, standard)
    return ProfileAttribute(
        name=attribute["name"],
        multivalued=attribute["multivalued"],
        required=None
        if required is None
        else Required(_viewers(required.get("roles", ())), tuple(required.get("scopes", ()))),
        view=_viewers(permissions.get("view", ())),
        edit=_viewers(permissions.get("edit", ())),
        checks=tuple(_checks(attribute)),
        default_value=attribute.get("defaultValue"),
        scopes=tuple(attribute.get("selector", {}).get("scopes", ())),
        display=display_of(attribute),
    )


def _viewers(names: Iterable[str]) -> frozenset[Viewer]:
    return frozenset(map(Viewer, names))


def _checks(attribute: Mapping[str, Any]) -> Iterator[Check]:
    validations = attribute.get("validations", {})
    for kind, values in validations.items():
        # A kind of a later version is passed over, not an error at every sign-in.
        if kind in VALIDATORS:
            yield VALIDATORS[kind](Configuration(values, stored=True))
    if not attribute["multivalued"] and MULTIVALUED not in validations:
        yield between(0, 1)


def _sentence(violation: Violation) -> str:
    """Return field and message, and in brackets what the message is about, such as a range."""
    limits = ", ".join(str(value) for value in violation.parameters[1:] if value is not None)
    return f"{violation.field}: {violation.message}" + (f" ({limits})" if limits else "")
