"""The profile as forms are made of it: what each attribute is called, must be, and may be.

Keycloak: UserProfileMetadata
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
    document: Mapping[str, Any],
    rules: UserProfile,
    login: LoginSettings,
    *,
    known: bool,
    viewer: Viewer = Viewer.ADMIN,
    locked: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Return what the viewer sees; `known` of a user that there is already.

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
