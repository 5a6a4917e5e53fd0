"""Clients, roles of clients and client scopes by their names in realm files before version 4.

Applications and OAuth clients became clients, client templates became client scopes. What has
another type than it should have is left to the readers, which refuse it.
Keycloak: realm import (applications, oauthClients, applicationScopeMappings, applicationRoles,
clientTemplates)
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.admin.client_scope_defaults import default_client_scopes
from gateway.admin.realm_files.migration_steps import (
    ALWAYS,
    ON_REQUEST,
    Document,
    default_scope,
)
from gateway.domain.client_scopes import RealmDefault

_OF_TEMPLATES: Final = ("useTemplateConfig", "useTemplateScope", "useTemplateMappers")
_KEPT_OF_TEMPLATE: Final = (
    *("id", "name", "protocol", "description", "attributes", "protocolMappers"),
)
_LISTS: Final = ((ALWAYS, RealmDefault.DEFAULT), (ON_REQUEST, RealmDefault.OPTIONAL))


def with_current_clients(document: Mapping[str, Any], *, is_new: bool) -> Document:
    """Return the document with clients and client scopes alone; `is_new` of its realm."""
    found = _with_clients(document)
    _rename(found, "applicationScopeMappings", "clientScopeMappings")
    if isinstance(found.get("roles"), Mapping):
        found["roles"] = _with_client_roles(found["roles"])
    _change_each(found, "users", _with_roles_of_clients)
    _use_scopes(found, is_new=is_new)
    return found


def scope_name(name: Any) -> Any:
    """Return the name of a client scope: that of a template may have spaces."""
    return name.replace(" ", "_") if isinstance(name, str) else name


def _with_clients(document: Mapping[str, Any]) -> Document:
    """Return the document whose applications and OAuth clients are clients."""
    found = dict(document)
    added: list[Any] = []
    for member, settings in (
        ("applications", {}),
        ("oauthClients", {"consentRequired": True, "fullScopeAllowed": False}),
    ):
        items = found.get(member)
        if isinstance(items, list) and all(isinstance(item, Mapping) for item in items):
            added += [_client(item, settings) for item in items]
            del found[member]
    clients = found.get("clients") or []
    if added and isinstance(clients, list):
        found["clients"] = [*clients, *added]
    return found


def _client(application: Mapping[str, Any], settings: Mapping[str, Any]) -> Document:
    """Return the client that an application is; its name was what is the client id today."""
    client = {name: value for name, value in application.items() if name not in ("name", "claims")}
    client["clientId"] = application.get("name")
    if application.get("claims") and application.get("protocolMappers") is None:
        client["protocolMappers"] = []
    return {**client, **settings}


def _rename(document: Document, former: str, name: str) -> None:
    """Give a member its present name; where the document has both, the present one counts."""
    if former in document:
        value = document.pop(former)
        if document.get(name) is None:
            document[name] = value


def _change_each(document: Document, name: str, change: Callable[[Document], None]) -> None:
    items = document.get(name)
    if isinstance(items, list) and all(isinstance(item, Mapping) for item in items):
        document[name] = changed = [dict(item) for item in items]
        for item in changed:
            change(item)


def _with_client_roles(roles: Mapping[str, Any]) -> Document:
    found = dict(roles)
    _rename(found, "application", "client")
    _change_each(found, "realm", _with_composites_of_clients)
    of_clients = found.get("client")
    if isinstance(of_clients, Mapping):
        found["client"] = changed = dict(of_clients)
        for client in changed:
            _change_each(changed, client, _with_composites_of_clients)
    return found


def _with_composites_of_clients(role: Document) -> None:
    composites = role.get("composites")
    if isinstance(composites, Mapping):
        role["composites"] = changed = dict(composites)
        _rename(changed, "application", "client")


def _with_roles_of_clients(user: Document) -> None:
    _rename(user, "applicationRoles", "clientRoles")


def _use_scopes(document: Document, *, is_new: bool) -> None:
    """Make the client templates client scopes, and give them to their clients."""
    templates = document.get("clientTemplates")
    if isinstance(templates, list) and all(isinstance(each, Mapping) for each in templates):
        del document["clientTemplates"]
        scopes = [
            {name: each[name] for name in _KEPT_OF_TEMPLATE if name in each}
            | {"name": scope_name(each.get("name"))}
            for each in templates
        ]
        if scopes and document.get("clientScopes") is None:
            _add_scopes(document, scopes, is_new=is_new)
    _change_each(document, "clients", lambda client: _use_template(client, document))
    _change_each(document, "scopeMappings", _name_scope)
    of_clients = document.get("clientScopeMappings")
    if isinstance(of_clients, Mapping):
        document["clientScopeMappings"] = changed = dict(of_clients)
        for client in changed:
            _change_each(changed, client, _name_scope)


def _add_scopes(document: Document, scopes: list[Document], *, is_new: bool) -> None:
    """Add scopes to the document; those of every new realm go with them."""
    if not is_new:
        document["clientScopes"] = scopes
        return
    built_in = (default_scope(scope.name) for scope in default_client_scopes(""))
    document["clientScopes"] = [*built_in, *scopes]
    for lists, kind in _LISTS:
        document.setdefault(lists.of_realm, _names_of(kind))


def _names_of(kind: RealmDefault) -> list[str]:
    """Return the names of the built-in client scopes in one list of a new realm."""
    return [scope.name for scope in default_client_scopes("") if scope.realm_default is kind]


def _use_template(client: Document, document: Mapping[str, Any]) -> None:
    """Give a client the scope that was its template, beside those that it would have."""
    template = client.pop("clientTemplate", None)
    for name in _OF_TEMPLATES:
        client.pop(name, None)
    if not isinstance(template, str) or not template:
        return
    if all(client.get(lists.of_clients) is None for lists, _ in _LISTS):
        for lists, kind in _LISTS:
            client[lists.of_clients] = document.get(lists.of_realm, _names_of(kind))
    scopes = client.get(ALWAYS.of_clients) or []
    if isinstance(scopes, list) and scope_name(template) not in scopes:
        client[ALWAYS.of_clients] = [*scopes, scope_name(template)]


def _name_scope(mapping: Document) -> None:
    if "clientTemplate" in mapping:
        template = mapping.pop("clientTemplate")
        mapping.setdefault("clientScope", scope_name(template))
