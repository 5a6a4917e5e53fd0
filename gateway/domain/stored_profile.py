"""The stored user profile of a realm to its rules; a later version may have stored other members.

The document is what `GET users/profile` answers. It may have any annotations, so those without use
are passed over.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from gateway.domain.profile_validators import (
    MULTIVALUED,
    VALIDATORS,
    ValidatorConfiguration,
    between,
)
from gateway.domain.user_profile import (
    EMAIL,
    ROOTS,
    USERNAME,
    AttributeDisplay,
    Check,
    InputType,
    Option,
    ProfileAttribute,
    Required,
    UnmanagedPolicy,
    UserProfile,
    Viewer,
)

PROFILE_PROVIDER: Final = "declarative-user-profile"
_OPTIONS: Final = "options"
_HINTS: Final = ("inputHelperTextBefore", "inputHelperTextAfter")


def profile_in(documents: Mapping[str, Mapping[str, Any]]) -> UserProfile | None:
    """Return the rules of the stored profile of a realm, if it has one."""
    stored = documents.get(PROFILE_PROVIDER)
    return None if stored is None else rules_of(stored["profile"])


def rules_of(document: Mapping[str, Any]) -> UserProfile:
    """Return the rules of a document that was kept."""
    policy = document.get("unmanagedAttributePolicy")
    attributes = (_rules_of(attribute) for attribute in document["attributes"])
    return UserProfile(
        {attribute.name: attribute for attribute in attributes},
        None if policy is None else UnmanagedPolicy(policy),
    )


def _rules_of(attribute: Mapping[str, Any]) -> ProfileAttribute:
    required = attribute.get("required")
    # By default everyone may change the names of a user; nothing else may be changed.
    is_name = attribute["name"] in (USERNAME, EMAIL)
    standard = {"view": tuple(Viewer), "edit": tuple(Viewer)} if is_name else {}
    permissions = attribute.get("permissions", standard)
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
            yield VALIDATORS[kind](ValidatorConfiguration(values, stored=True))
    if not attribute["multivalued"] and MULTIVALUED not in validations:
        yield between(0, 1)


def display_of(attribute: Mapping[str, Any]) -> AttributeDisplay:
    """Return what a form displays for an attribute of a document that was kept."""
    name, annotations = attribute["name"], attribute.get("annotations") or {}
    options = tuple(_options(attribute.get("validations", {}), annotations))
    hints = (_text(annotations, key) for key in _HINTS)
    return AttributeDisplay(
        label=attribute.get("displayName") or (f"${{{name}}}" if name in ROOTS else name),
        input_type=InputType.SELECT if options else _input_type(annotations),
        options=options,
        hint=" ".join(hint for hint in hints if hint),
    )


def _input_type(annotations: Mapping[str, Any]) -> InputType:
    given = _text(annotations, "inputType")
    known = given in set(InputType) and given != InputType.SELECT
    return InputType(given) if known else InputType.TEXT


def _options(validations: Mapping[str, Any], annotations: Mapping[str, Any]) -> Iterator[Option]:
    source = _text(annotations, "inputOptionsFromValidation") or _OPTIONS
    given = (validations.get(source) or {}).get(_OPTIONS)
    labels, prefix = (
        annotations.get("inputOptionLabels"),
        _text(annotations, "inputOptionLabelsI18nPrefix"),
    )
    for value in given if isinstance(given, list) else ():
        if isinstance(value, str):
            label = _text(labels, value) if isinstance(labels, Mapping) else ""
            yield Option(value, label or (f"${{{prefix}.{value}}}" if prefix else value))


def _text(annotations: Mapping[str, Any], name: str) -> str:
    value = annotations.get(name)
    return value if isinstance(value, str) else ""
