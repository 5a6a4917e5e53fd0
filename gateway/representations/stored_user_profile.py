"""The user profile as a component: how it is stored, realm files carry it, and Ansible changes it.

A text that was sent is returned unchanged, or a client that compares the two would see a change.
Keycloak: ComponentExportRepresentation, the component of declarative-user-profile
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.stored_profile import PROFILE_PROVIDER
from gateway.representations.components import Component
from gateway.representations.json_input import parse_json
from gateway.representations.refusals import join, refused
from gateway.representations.user_profile import parse_user_profile, standard_user_profile

PROFILE_TYPE: Final = "org.keycloak.userprofile.UserProfileProvider"
PROFILE_CONFIG: Final = "kc.user.profile.config"


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """The profile that a realm was given; `id` and `name` are those of its component.

    `document` is what GET users/profile answers, `text` what the component was sent with.
    """

    id: str
    document: Mapping[str, Any]
    text: str | None = None
    name: str | None = None

    @property
    def config(self) -> str:
        return _text(self.document) if self.text is None else self.text

    def stored(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "text": self.text, "profile": self.document}


def restored_profile(stored: Mapping[str, Any]) -> StoredProfile:
    """Return what `stored` gave."""
    return StoredProfile(stored["id"], stored["profile"], stored["text"], stored["name"])


def parse_profile_text(text: str) -> dict[str, Any]:
    """Return the profile in a component's config; raises InvalidInput."""
    value = parse_json(text.encode(), PROFILE_CONFIG)
    if not isinstance(value, dict):
        raise refused(PROFILE_CONFIG, value, "the text of an object")
    return parse_user_profile(value, None)


def parse_profile_component(document: Mapping[str, Any], path: str) -> StoredProfile | None:
    """Return the profile that a realm file carries, None for none; raises InvalidInput.

    It has no id. Whether the realm has the client scopes that it names is not looked at.
    """
    at = join(path, "components")
    components = document.get("components")
    if components is None:
        return None
    if not isinstance(components, Mapping):
        raise refused(at, components, "an object of lists of components")
    at = f"{at}[{json.dumps(PROFILE_TYPE)}]"
    match components.get(PROFILE_TYPE):
        case None | []:
            return None
        case [{"config": {"kc.user.profile.config": [str(text)]}}]:
            return StoredProfile("", _load(text, f"{at}[0].config"), text)
        case [{"config": Mapping() as config}] if PROFILE_CONFIG not in config:
            return None
        case [Mapping() as component] if component.get("config") is None:
            return None
        case other:
            raise refused(at, other, f"one component, and in its config {PROFILE_CONFIG}")


def brings_profile(components: Any) -> bool:
    """Return whether the components have the text of a profile, and not its component alone."""
    match components:
        case {"org.keycloak.userprofile.UserProfileProvider": [{"config": Mapping() as config}]}:
            return PROFILE_CONFIG in config
        case _:
            return False


def allowing_unmanaged_attributes(components: Any) -> Any:
    """Return the components of a realm file with a profile that other attributes may stand beside.

    What cannot be read is left as it is.
    """
    if components is not None and not isinstance(components, Mapping):
        return components
    match (components or {}).get(PROFILE_TYPE):
        case None | []:
            before, profile = {}, standard_user_profile()
        case [Mapping() as component] if _lacks_profile(component.get("config")):
            before, profile = dict(component), standard_user_profile()
        case [{"config": {"kc.user.profile.config": [str(text)]}} as component]:
            try:
                before, profile = component, parse_profile_text(text)
            except InvalidInput:
                return components
        case _:
            return components
    config = {PROFILE_CONFIG: [_text({**profile, "unmanagedAttributePolicy": "ENABLED"})]}
    changed = {"providerId": PROFILE_PROVIDER, **before, "config": config}
    return {**(components or {}), PROFILE_TYPE: [changed]}


def _lacks_profile(config: Any) -> bool:
    """Return whether the component has no profile; a config of a wrong type has a wrong one."""
    return config is None or (isinstance(config, Mapping) and PROFILE_CONFIG not in config)


def profile_component(realm_id: str, profile: StoredProfile) -> Component:
    """Return the profile of a realm as its component."""
    return Component(
        id=profile.id,
        name=profile.name,
        provider_id=PROFILE_PROVIDER,
        provider_type=PROFILE_TYPE,
        parent_id=realm_id,
        config={PROFILE_CONFIG: (profile.config,)},
    )


def _text(profile: Mapping[str, Any]) -> str:
    return json.dumps(profile, ensure_ascii=False, separators=(",", ":"))


def _load(text: str, path: str) -> dict[str, Any]:
    try:
        return parse_profile_text(text)
    except InvalidInput as refusal:
        raise InvalidInput(
            tuple(
                FieldError(join(path, error.path), error.given, error.allowed)
                for error in refusal.errors
            )
        ) from refusal
