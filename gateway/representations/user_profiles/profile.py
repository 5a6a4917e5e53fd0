"""The user profile of a realm: Keycloak's JSON to the document that is kept, and to its rules.

The document is what GET answers: members in Keycloak's order, what stands at a default spelled
out. Refusals are in Keycloak's words, all of them in one.
Keycloak: UPConfig, a strict decoder; UPConfigUtils.validate
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check
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
from gateway.domain.user_profile.validators import VALIDATORS
from gateway.domain.user_profile.validators.multivalued import Multivalued, at_most
from gateway.representations.refusals import join, require_known
from gateway.representations.shapes import Choice, Flag, Shape, Text, TextList, VerbatimObject
from gateway.representations.user_profiles.reasons import wrong_about

_MOST: Final = 500
_TEXT: Final = Text(most=2048)
_PERMISSIONS: Final = "permissions"
_NAMING: Final = frozenset({USERNAME, EMAIL})


class ProfileRefused(InvalidInput):
    """A profile that cannot be used; `str()` says why, in Keycloak's words."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__(
            tuple(FieldError("profile", reason, "a profile without it") for reason in self.reasons)
        )

    def __str__(self) -> str:
        return f"[{', '.join(self.reasons)}]"


def standard_user_profile(*, demanding: bool = True) -> dict[str, Any]:
    """Return what a realm has that has said nothing; `demanding` asks users for address and names.

    Keycloak: 26.7, where the realm `master` demands nothing.
    """
    both = {"view": ["admin", "user"], "edit": ["admin", "user"]}
    required = {"required": {"roles": ["user"]}} if demanding else {}
    person = {"length": {"max": 255}, "person-name-prohibited-characters": {}}
    username = {
        "length": {"min": 3, "max": 255},
        "username-prohibited-characters": {},
        "up-username-not-idn-homograph": {},
    }
    of_each: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
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
            for name, validations, demanded in of_each
        ],
        "groups": [
            {
                "name": "user-metadata",
                "displayHeader": "User metadata",
                "displayDescription": "Attributes, which refer to user metadata",
            }
        ],
    }


def read_user_profile(
    document: Mapping[str, Any], scopes: Collection[str] | None
) -> dict[str, Any]:
    """Return the document to be kept; `scopes` are the names of the realm's client scopes.

    Where they are None, nothing is said of them. Raises InvalidInput, ProfileRefused and
    UnknownField.
    """
    given = _members(document, "UPConfig", "", _CONFIG)
    kept = {
        "attributes": [
            _attribute(item, at) for at, item in _objects(given.get("attributes"), "attributes")
        ],
        "groups": [_group(item, at) for at, item in _objects(given.get("groups"), "groups")],
    }
    if "unmanagedAttributePolicy" in given:
        kept["unmanagedAttributePolicy"] = given["unmanagedAttributePolicy"]
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


_CONFIG: Final[Mapping[str, Shape | None]] = {
    "attributes": None,
    "groups": None,
    "unmanagedAttributePolicy": Choice(UnmanagedPolicy),
}
_ATTRIBUTE: Final[Mapping[str, Shape | None]] = {
    "name": _TEXT,
    "displayName": _TEXT,
    "validations": None,
    "annotations": VerbatimObject(),
    "required": None,
    _PERMISSIONS: None,
    "selector": None,
    "group": _TEXT,
    "multivalued": Flag(),
    "defaultValue": _TEXT,
}
_GROUP: Final[Mapping[str, Shape | None]] = {
    "name": _TEXT,
    "displayHeader": _TEXT,
    "displayDescription": _TEXT,
    "annotations": VerbatimObject(),
}
_REQUIRED: Final[Mapping[str, Shape | None]] = {"roles": TextList(), "scopes": TextList()}
_ALLOWED: Final[Mapping[str, Shape | None]] = {"view": TextList(), "edit": TextList()}
_SELECTOR: Final[Mapping[str, Shape | None]] = {"scopes": TextList()}


def _members(
    value: Any, representation: str, path: str, shapes: Mapping[str, Shape | None]
) -> dict[str, Any]:
    """Return the members that are not null, in the order of the table, as JSON."""
    document = VerbatimObject().read(value, path)
    require_known(document, shapes, representation, path)
    return {
        name: document[name] if shape is None else _checked(shape, document[name], join(path, name))
        for name, shape in shapes.items()
        if document.get(name) is not None
    }


def _checked(shape: Shape, value: Any, path: str) -> Any:
    return shape.write(shape.read(value, path))


def _objects(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > _MOST:
        raise ProfileRefused([f"'{path}' is no list of at most {_MOST}"])
    yield from ((f"{path}[{index}]", item) for index, item in enumerate(value))


def _attribute(value: Any, path: str) -> dict[str, Any]:
    given = _members(value, "UPAttribute", path, _ATTRIBUTE)
    if "validations" in given:
        validations = VerbatimObject().read(given["validations"], join(path, "validations"))
        given["validations"] = {
            name: VerbatimObject().read(item or {}, join(path, name))
            for name, item in validations.items()
        }
    if "required" in given:
        at = join(path, "required")
        given["required"] = _members(given["required"], "UPAttributeRequired", at, _REQUIRED)
    if _PERMISSIONS in given:
        at = join(path, _PERMISSIONS)
        allowed = _members(given[_PERMISSIONS], "UPAttributePermissions", at, _ALLOWED)
        given[_PERMISSIONS] = {"view": [], "edit": []} | allowed
    if "selector" in given:
        at = join(path, "selector")
        given["selector"] = _members(given["selector"], "UPAttributeSelector", at, _SELECTOR)
    given.setdefault("multivalued", False)
    return {name: given[name] for name in _ATTRIBUTE if name in given}


def _group(value: Any, path: str) -> dict[str, Any]:
    return _members(value, "UPGroup", path, _GROUP)


def _rules_of(attribute: Mapping[str, Any]) -> ProfileAttribute:
    required = attribute.get("required")
    # Without a word about it anybody changes what names a user, and nobody anything else.
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
        by_scope=bool(attribute.get("selector", {}).get("scopes")),
    )


def _viewers(names: Iterable[str]) -> frozenset[Viewer]:
    return frozenset(map(Viewer, names))


def _checks(attribute: Mapping[str, Any]) -> Iterator[Check]:
    validations = attribute.get("validations", {})
    for kind, values in validations.items():
        # A kind of a later version is passed over, not an error at every sign-in.
        if kind in VALIDATORS:
            yield VALIDATORS[kind].configured(Configuration(values, stored=True))
    if not attribute["multivalued"] and Multivalued.name not in validations:
        yield at_most(0, 1)
