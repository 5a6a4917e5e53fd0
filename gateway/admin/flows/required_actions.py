"""Required actions of a realm, and those of new users. Refusals have Keycloak's texts.

A disabled action is not required by a user's state (unverified address, incomplete profile, old
password); an action that an administrator required of a user stays required.
Keycloak: authentication/required-actions
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import Acting, existing
from gateway.admin.changes import Administration, Change
from gateway.admin.flows.unit_of_work import remove_document
from gateway.authentication.new_users import realm_actions
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import (
    CREDENTIAL_OF_ACTION,
    DEFAULT_ACTIONS,
    UPDATE_PASSWORD,
    RequiredAction,
    action_document,
)
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import DocumentKind
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound, WireFamily
from gateway.representations.field_table import parse_strictly
from gateway.representations.flows import (
    ACTION_NAMES,
    is_configurable,
    known_config,
    parse_action,
    render_action,
    settings_of,
)
from gateway.representations.refusals import describe_name
from gateway.representations.shapes import Text, TextMap

_PATH: Final = "authentication/required-actions"
_KIND: Final = DocumentKind.REQUIRED_ACTION
_ACTION: Final = ResourceType.REQUIRED_ACTION
_CONFIG: Final = ResourceType.REQUIRED_ACTION_CONFIG
_LINE: Final = Text(most=255)
_REGISTRATORS: Final = CREDENTIAL_OF_ACTION.keys() - {UPDATE_PASSWORD}
_NOT_FOUND: Final = "Failed to find required action"
_NOT_CONFIGURABLE: Final = "RequiredAction is not configurable"


class RequiredActionAdministration(Administration):
    """The use cases."""

    async def list_actions(self, acting: Acting) -> list[dict[str, Any]]:
        return [render_action(each) for each in await self._actions(acting.realm)]

    async def get_action(self, acting: Acting, alias: str) -> dict[str, Any]:
        return render_action(_get_action(await self._actions(acting.realm), alias, _NOT_FOUND))

    async def list_unregistered_actions(self, realm: Realm) -> Sequence[dict[str, str]]:
        known = {each.provider for each in await self._actions(realm)}
        return [
            {"providerId": provider, "name": name}
            for provider, name in ACTION_NAMES.items()
            if provider not in known
        ]

    async def list_registrators(self, realm: Realm) -> Sequence[str]:
        """Return the providers of the enabled actions by which users register a credential."""
        actions = (each for each in await self._actions(realm) if each.enabled)
        return [each.provider for each in actions if each.provider in _REGISTRATORS]

    async def register_action(self, acting: Acting, document: Mapping[str, Any]) -> None:
        """Add an action that this realm does not have; raises InvalidRequest."""
        given = {
            name: _LINE.read(value, describe_name(name))
            for name, value in document.items()
            if value is not None
        }
        provider = given.get("providerId", "")
        if provider not in ACTION_NAMES:
            raise InvalidRequest(
                "Required Action Provider with given providerId not found", WireFamily.PROSE
            )
        async with self._changes.begin(acting, alone=True) as change:
            actions = await realm_actions(change.stores, change.realm.id)
            if any(each.alias == provider for each in actions):
                taken = "A Required Action Provider with given alias already exists."
                raise InvalidRequest(taken, WireFamily.OAUTH, code="conflict", conflict=True)
            last = max((each.priority for each in actions), default=0)
            action = RequiredAction(provider, given.get("name"), provider, priority=last + 1)
            await _put_action(change, action)
            path = "authentication/register-required-action"
            change.record(OperationType.CREATE, _ACTION, path, document)

    async def update_action(self, acting: Acting, alias: str, document: Mapping[str, Any]) -> None:
        async with self._changes.begin(acting, alone=True) as change:
            actions = await realm_actions(change.stores, change.realm.id)
            before = _get_action(actions, alias, _NOT_FOUND)
            change.require_match(render_action, before)
            after = parse_action(document, before)
            if after.alias != alias:
                if any(each.alias == after.alias for each in actions):
                    raise AlreadyExists(f"A required action {after.alias} already exists")
                await _remove_action(change, alias)
            await _put_action(change, after)
            change.record(OperationType.UPDATE, _ACTION, f"{_PATH}/{alias}", document)

    async def remove_action(self, acting: Acting, alias: str) -> None:
        async with self._changes.begin(acting, alone=True) as change:
            actions = await realm_actions(change.stores, change.realm.id)
            before = _get_action(actions, alias, f"{_NOT_FOUND}.")
            change.require_match(render_action, before)
            await _remove_action(change, alias)
            change.record(OperationType.DELETE, _ACTION, f"{_PATH}/{alias}")

    async def move_action(self, acting: Acting, alias: str, *, up: bool) -> None:
        """Exchange an action with the one before or after; raises NotFound."""
        async with self._changes.begin(acting, alone=True) as change:
            actions = await realm_actions(change.stores, change.realm.id)
            moving = _get_action(actions, alias, f"{_NOT_FOUND}.")
            place = actions.index(moving) + (-1 if up else 1)
            if 0 <= place < len(actions):
                other = actions[place]
                first, second = sorted((moving.priority, other.priority))
                later = max(second, first + 1)
                low, high = (moving, other) if up else (other, moving)
                await _put_action(change, replace(low, priority=first))
                await _put_action(change, replace(high, priority=later))
            verb = "raise" if up else "lower"
            path = f"{_PATH}/{alias}/{verb}-priority"
            change.record(OperationType.UPDATE, _ACTION, path)

    async def get_config(self, realm: Realm, alias: str) -> dict[str, Any]:
        action = _configurable(await self._actions(realm), alias)
        return {"config": dict(action.config)}

    async def replace_config(
        self, acting: Acting, alias: str, document: Mapping[str, Any] | None
    ) -> None:
        """Replace or, with None, remove the configuration; raises NotFound, InvalidRequest."""
        fields = {"config": TextMap(longest=1000)}
        given = parse_strictly(document or {}, fields, "RequiredActionConfigRepresentation")
        config = known_config(given.get("config", {}))
        async with self._changes.begin(acting, alone=True) as change:
            actions = await realm_actions(change.stores, change.realm.id)
            await _put_action(change, replace(_configurable(actions, alias), config=config))
            operation = OperationType.DELETE if document is None else OperationType.UPDATE
            change.record(operation, _CONFIG, f"{_PATH}/{alias}/config", document)

    def describe_action(self, alias: str) -> dict[str, Any]:
        if not is_configurable(alias):
            raise NotFound("Could not find configurable RequiredAction provider")
        return {"properties": [each.document() for each in settings_of(alias)]}

    async def _actions(self, realm: Realm) -> tuple[RequiredAction, ...]:
        async with self._database.read() as stores:
            return await realm_actions(stores, realm.id)


async def _put_action(change: Change, action: RequiredAction) -> None:
    await change.stores.documents.put_document(
        change.realm.id, _KIND, action.alias, action_document(action)
    )
    change.invalidate(realm_topic(change.realm.id))


async def _remove_action(change: Change, alias: str) -> None:
    is_default = alias in {each.alias for each in DEFAULT_ACTIONS}
    await remove_document(change.stores, change.realm.id, _KIND, alias, is_default=is_default)
    change.invalidate(realm_topic(change.realm.id))


def _get_action(actions: tuple[RequiredAction, ...], alias: str, missing: str) -> RequiredAction:
    return existing(next((each for each in actions if each.alias == alias), None), missing)


def _configurable(actions: tuple[RequiredAction, ...], alias: str) -> RequiredAction:
    if not is_configurable(alias):
        raise InvalidRequest(_NOT_CONFIGURABLE, WireFamily.PROSE)
    return _get_action(actions, alias, "Could not find RequiredAction config")
