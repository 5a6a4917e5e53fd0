"""Components in realm files: lists by type, without the secret parts of keys.

The user profile has a module of its own. Keycloak: ComponentExportRepresentation
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.keys import IMPORTERS, KeyProvider
from gateway.representations.component import Component, parse_component, render_component
from gateway.representations.keys import KEY_PROVIDER_TYPE, PRIVATE_KEY
from gateway.representations.masking import MASK
from gateway.representations.refusals import attempt, join, raise_all, refused
from gateway.representations.registration import POLICY_PROVIDERS, POLICY_TYPE
from gateway.representations.user_profiles import PROFILE_TYPE

_MOST: Final = 50
"""Components of one type in a file: generating a key takes up to a second."""
_SUB_COMPONENTS: Final = "subComponents"
_GENERATED_MATERIAL: Final = (PRIVATE_KEY, "secret")
_POLICIES: Final = frozenset(each.id for each in POLICY_PROVIDERS)


@dataclass(frozen=True, slots=True)
class ComponentsInput:
    """The components of a file that an import stores."""

    keys: tuple[Component, ...] = ()
    policies: tuple[Component, ...] = ()


def render_components(components: Iterable[Component]) -> dict[str, Any]:
    """Return `components` of a realm file."""
    types: dict[str, list[dict[str, Any]]] = {}
    for component in components:
        named = replace(component, provider_type=None, parent_id=None)
        document = render_component(named)
        config = document.pop("config")
        listed = types.setdefault(str(component.provider_type), [])
        listed.append(document | {_SUB_COMPONENTS: {}, "config": config})
    return types


def parse_components(document: Mapping[str, Any], path: str) -> ComponentsInput:
    """Return the keys and policies of a file; raises InvalidInput."""
    components = document.get("components")
    if not isinstance(components, Mapping):
        return ComponentsInput()
    at, errors = join(path, "components"), list[FieldError]()
    found = {
        kind: attempt(errors, (), _parse_list, components.get(kind), join(at, kind))
        for kind in (KEY_PROVIDER_TYPE, POLICY_TYPE)
    }
    raise_all(errors)
    keys = (each for each in found[KEY_PROVIDER_TYPE] if _is_usable_key(each))
    policies = (each for each in found[POLICY_TYPE] if each.provider_id in _POLICIES)
    return ComponentsInput(tuple(keys), tuple(policies))


def carries_unread_components(document: Mapping[str, Any]) -> bool:
    """Return whether a file has components, or material of keys, that an import ignores."""
    components = document.get("components")
    if not isinstance(components, Mapping):
        return bool(components)
    others = {name for name, items in components.items() if items}
    if others - {KEY_PROVIDER_TYPE, POLICY_TYPE, PROFILE_TYPE}:
        return True
    try:
        read = parse_components(document, "")
    except InvalidInput:
        return True
    sent = [*(components.get(KEY_PROVIDER_TYPE) or ()), *(components.get(POLICY_TYPE) or ())]
    return len(sent) != len(read.keys) + len(read.policies) or any(map(_has_material, read.keys))


def _parse_list(items: Any, path: str) -> tuple[Component, ...]:
    if items is None:
        return ()
    if not isinstance(items, list) or len(items) > _MOST:
        raise refused(path, items, f"a list of at most {_MOST} components")
    return tuple(_parse_one(item, f"{path}[{place}]") for place, item in enumerate(items))


def _parse_one(item: Any, path: str) -> Component:
    if not isinstance(item, Mapping):
        raise refused(path, item, "a component")
    members = {name: value for name, value in item.items() if name != _SUB_COMPONENTS}
    try:
        return parse_component(members)
    except InvalidInput as error:
        raise InvalidInput(
            tuple(replace(wrong, path=join(path, wrong.path)) for wrong in error.errors)
        ) from error


def _is_usable_key(component: Component) -> bool:
    """Return whether a key can be made: an imported one needs its private key."""
    if component.provider_id in IMPORTERS:
        return component.config.get(PRIVATE_KEY, (MASK,)) != (MASK,)
    return component.provider_id in set(KeyProvider)


def _has_material(component: Component) -> bool:
    """Return whether a key that is generated here was another one where it comes from."""
    generated = component.provider_id not in IMPORTERS
    return generated and any(name in component.config for name in _GENERATED_MATERIAL)
