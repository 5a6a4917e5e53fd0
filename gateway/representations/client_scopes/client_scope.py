"""Client scopes: Keycloak's JSON, or its snake_case, to a `ClientScope` and back.

A partial document keeps what it leaves out, and of `attributes` each entry that it does not name;
an entry that is null goes. Keycloak: ClientScopeRepresentation. Spec: RFC 6749 §3.3 (names)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients import OPENID_CONNECT
from gateway.domain.errors import FieldError
from gateway.representations.field_table import FieldTable, Given, Setting
from gateway.representations.names import Identity
from gateway.representations.protocol_mappers import (
    ProtocolMappers,
    restore_mappers,
    with_ids,
    with_userinfo_option,
)
from gateway.representations.refusals import join, mistyped, raise_all, refused_text
from gateway.representations.refused_settings import ineffective_of_scope
from gateway.representations.shapes import OneOf, Text, TextMap, Verbatim, text_of_scalar

SCOPE_PROTOCOLS: Final = (OPENID_CONNECT, "saml")
_NAME: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]{1,255}")


@dataclass(frozen=True, slots=True)
class ScopeName(Verbatim):
    """A name that may stand in the `scope` of a request."""

    def read(self, value: Any, path: str) -> str:
        if not is_scope_name(value := text_of_scalar(value)):
            allowed = "1 to 255 visible ASCII characters without quotes and backslashes"
            raise refused_text(path, value, allowed)
        return str(value)


def is_scope_name(value: object) -> bool:
    """Return whether a scope may have this name."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


CLIENT_SCOPE_TABLE: Final = FieldTable(
    (
        Setting("id", "id", Identity(), public=True),
        Setting("name", "name", ScopeName(), public=True),
        Setting("description", "description", Text(), public=True),
        Setting("protocol", "protocol", OneOf(SCOPE_PROTOCOLS)),
        Setting("attributes", "attributes", TextMap()),
        Setting("protocolMappers", "mappers", ProtocolMappers(of_scope=True), omit_empty=True),
    )
)


def parse_client_scope(
    document: Mapping[str, Any],
    realm_id: str,
    *,
    base: ClientScope | None = None,
    path: str = "",
    report_ineffective: bool = False,
) -> ClientScope:
    """Return the scope that `document` describes; fields that Keycloak has not are passed over.

    With `base`, what is absent or null stays as it is there, and the id always. Settings that
    would promise a protection without giving it are refused unless the caller reports them.
    Raises InvalidInput with every wrong field.
    """
    if not isinstance(document, Mapping):
        raise mistyped(path or "clientScope", document, "an object")
    errors: list[FieldError] = []
    given = CLIENT_SCOPE_TABLE.collect(document, path, errors)
    before = base or ClientScope(str(uuid4()), realm_id, "")
    updates = CLIENT_SCOPE_TABLE.read_settings(given, errors)
    if not before.name and "name" not in given:
        errors.append(FieldError(join(path, "name"), "nothing", "the name of the scope"))
    raise_all(errors)
    scope = CLIENT_SCOPE_TABLE.updated(before, updates)
    mappers = scope.mappers
    if base is None:
        mappers = tuple(with_userinfo_option(mapper) for mapper in mappers)
    scope = replace(
        scope,
        id=before.id if base else scope.id,
        attributes=_merged(before.attributes, given),
        mappers=with_ids(mappers, before.mappers),
    )
    if not report_ineffective:
        raise_all(ineffective_of_scope(scope, base, path))
    return scope


def _merged(before: Mapping[str, str], given: Given) -> dict[str, str]:
    at, sent = given.get("attributes", ("", {}))
    removed = {name for name, text in sent.items() if text is None}
    kept = {name: text for name, text in before.items() if name not in removed}
    return kept | TextMap().read(sent, at)


def render_client_scope(scope: ClientScope) -> dict[str, Any]:
    """Return the JSON object of `scope`, in Keycloak's order."""
    return CLIENT_SCOPE_TABLE.answer(scope, {})


def changes_reach_of_clients(before: ClientScope, after: ClientScope) -> bool:
    """Return whether two states of a scope differ in more than texts and the order of a list.

    See `gateway/representations/clients/reach.py`.
    """
    return _reach_document(before) != _reach_document(after)


def _reach_document(scope: ClientScope) -> dict[str, Any]:
    document = render_client_scope(scope)
    attributes = document.get("attributes", {})
    kept = {name: text for name, text in attributes.items() if name not in _HARMLESS_ATTRIBUTES}
    return {**document, "description": None, "attributes": kept}


_HARMLESS_ATTRIBUTES: Final = frozenset(
    {"consent.screen.text", "gui.order", "include.in.openid.provider.metadata"}
)


def render_reference(scope: ClientScope, *, protocol: bool = True) -> dict[str, Any]:
    """Return the few members by which lists name a scope."""
    named = {"id": scope.id, "name": scope.name}
    return {**named, "protocol": scope.protocol} if protocol else named


def restore_client_scope(
    document: Mapping[str, Any], realm_id: str, realm_default: str | None
) -> ClientScope:
    """Return the scope of a document in storage, unjudged."""
    own, _ = CLIENT_SCOPE_TABLE.restore(document)
    if "mappers" in own:
        own["mappers"] = restore_mappers(own["mappers"])
    listed = None if realm_default is None else RealmDefault(realm_default)
    return ClientScope(realm_id=realm_id, realm_default=listed, **own)
