"""The profile as forms are made of it: what each attribute is called, must be, and may be.

Keycloak: UserProfileMetadata, as an administrator sees it
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.realm import LoginSettings
from gateway.domain.user_profile.profile import (
    EMAIL,
    ROOTS,
    USERNAME,
    ProfileAttribute,
    UserProfile,
    Viewer,
)

_EMPTY_IS_FINE: Final = {"ignore.empty.value": True}
_ONE_VALUE: Final = {"multivalued": {"max": "1"}}


def render_metadata(
    document: Mapping[str, Any], rules: UserProfile, login: LoginSettings, *, known: bool
) -> dict[str, Any]:
    """Return what an administrator sees; `known` of a user that there is already."""
    described = {attribute["name"]: attribute for attribute in document["attributes"]}
    return {
        "attributes": [
            _attribute(described.get(name, {"name": name}), attribute, login, known=known)
            for name, attribute in rules.attributes.items()
            if attribute.is_shown_to(Viewer.ADMIN)
        ],
        "groups": [{**group} for group in document.get("groups", ())],
    }


def _attribute(
    described: Mapping[str, Any], attribute: ProfileAttribute, login: LoginSettings, *, known: bool
) -> dict[str, Any]:
    name = attribute.name
    optional = ("annotations", "group", "defaultValue")
    answer = {
        "name": name,
        "displayName": described.get("displayName") or (f"${{{name}}}" if name in ROOTS else name),
        "required": _is_required(attribute, login),
        "readOnly": _is_read_only(attribute, login, known=known),
        "annotations": described.get("annotations"),
        "validators": _validators(described, attribute),
        "group": described.get("group"),
        "multivalued": described.get("multivalued", False),
        "defaultValue": described.get("defaultValue"),
    }
    return {key: value for key, value in answer.items() if key not in optional or value is not None}


def _is_required(attribute: ProfileAttribute, login: LoginSettings) -> bool:
    if attribute.name == USERNAME:
        return not login.registration_email_as_username
    if attribute.name == EMAIL and login.registration_email_as_username:
        return True
    return attribute.required is not None and attribute.required.of(Viewer.ADMIN)


def _is_read_only(attribute: ProfileAttribute, login: LoginSettings, *, known: bool) -> bool:
    if attribute.name == USERNAME:
        settled = known and not login.edit_username_allowed
        return settled or login.registration_email_as_username
    return Viewer.ADMIN not in attribute.edit


def _validators(described: Mapping[str, Any], attribute: ProfileAttribute) -> dict[str, Any]:
    given = {
        name: {**values, **_EMPTY_IS_FINE}
        for name, values in described.get("validations", {}).items()
    }
    return given if attribute.multivalued else _ONE_VALUE | given
