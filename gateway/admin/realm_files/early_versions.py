"""Steps for files of Keycloak before version 18; `migration` has the later ones and their order.

The standard clients and roles that these versions lacked are added to every new realm anyway.
Keycloak: realm import (26.7), migration of files of versions 3 to 17
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from gateway.admin.realm_files.former_clients import scope_name
from gateway.admin.realm_files.migration_steps import (
    ACTIONS,
    ALWAYS,
    EXECUTIONS,
    FLOWS,
    ON_REQUEST,
    SCOPES,
    Document,
    Flow,
    KnownObjects,
    Step,
    Version,
    add_action,
    add_scope,
    alias_of,
    change_clients,
    flows_of,
    objects_of,
    steps_of,
)
from gateway.domain.flows import DEFAULT_ACTIONS
from gateway.representations.flows import render_action
from gateway.representations.registration_policies import POLICY_TYPE

_ACCOUNT: Final = "account"
_CONSOLE: Final = "account-console"
_ADMIN_CONSOLE: Final = "security-admin-console"
_DELETE_ACCOUNT: Final = "delete_account"
_ALLOWED_SCOPES: Final = "allowed-client-scopes"
_ALLOWED_TEMPLATES: Final = "allowed-client-templates"
_FORMER_POLICY: Final = "frame-src 'self'"
_POLICY: Final = "frame-src 'self'; frame-ancestors 'self'; object-src 'none';"
_ALTERNATIVE: Final = "ALTERNATIVE"
_DECIDING: Final = frozenset({"REQUIRED", "CONDITIONAL"})


def _restrict_frames(document: Document, _known: KnownObjects) -> None:
    headers = document.get("browserSecurityHeaders")
    if isinstance(headers, Mapping) and headers.get("contentSecurityPolicy") == _FORMER_POLICY:
        document["browserSecurityHeaders"] = {**headers, "contentSecurityPolicy": _POLICY}


def _names_without_spaces(names: Any) -> Any:
    return [scope_name(each) for each in names] if isinstance(names, list) else names


def _rename_scopes(document: Document, _known: KnownObjects) -> None:
    """Write the names of client scopes, and their uses, without spaces."""
    scopes = objects_of(document, SCOPES)
    if scopes is not None:
        document[SCOPES] = [_with_changed(each, "name", scope_name) for each in scopes]
    for lists in (ALWAYS, ON_REQUEST):
        if lists.of_realm in document:
            document[lists.of_realm] = _names_without_spaces(document[lists.of_realm])

    def rename(client: Document) -> None:
        for lists in (ALWAYS, ON_REQUEST):
            if lists.of_clients in client:
                client[lists.of_clients] = _names_without_spaces(client[lists.of_clients])

    change_clients(document, rename)
    mappings = objects_of(document, "scopeMappings")
    if mappings is not None:
        renamed = [_with_changed(each, "clientScope", scope_name) for each in mappings]
        document["scopeMappings"] = renamed
    of_clients = document.get("clientScopeMappings")
    if isinstance(of_clients, Mapping):
        document["clientScopeMappings"] = {
            client: [_with_changed(each, "clientScope", scope_name) for each in items]
            if isinstance(items, list) and all(isinstance(each, Mapping) for each in items)
            else items
            for client, items in of_clients.items()
        }


def _with_changed(item: Mapping[str, Any], name: str, change: Any) -> Mapping[str, Any]:
    return {**item, name: change(item[name])} if name in item else item


def _allow_scopes_to_registered_clients(document: Document, _known: KnownObjects) -> None:
    """Rename the setting of a registration policy, which named templates, and the templates."""
    components = document.get("components")
    policies = components.get(POLICY_TYPE) if isinstance(components, Mapping) else None
    if not isinstance(components, Mapping) or not isinstance(policies, list):
        return
    changed = [_with_allowed_scopes(each) for each in policies]
    document["components"] = {**components, POLICY_TYPE: changed}


def _with_allowed_scopes(policy: Any) -> Any:
    if not isinstance(policy, Mapping) or policy.get("providerId") != _ALLOWED_TEMPLATES:
        return policy
    config = policy.get("config") or {}
    if not isinstance(config, Mapping):
        return policy
    kept = {name: value for name, value in config.items() if name != _ALLOWED_TEMPLATES}
    if _ALLOWED_TEMPLATES in config:
        kept[_ALLOWED_SCOPES] = _names_without_spaces(config[_ALLOWED_TEMPLATES])
    return {**policy, "config": {**kept, "allow-default-scopes": ["true"]}}


def _number_actions(document: Document, known: KnownObjects) -> None:
    """Give each required action the next priority by its name: they had none before.

    An action that the file does not name is counted, and left to the realm where the realm has it.
    """
    actions = objects_of(document, ACTIONS)
    if actions is None or not all(isinstance(each.get("name", ""), str) for each in actions):
        return
    named = {alias_of(each) for each in actions}
    if _DELETE_ACCOUNT not in named:
        # A new realm gets this action: a second import numbers the others as the first did.
        default = next(each for each in DEFAULT_ACTIONS if each.alias == _DELETE_ACCOUNT)
        actions = [*actions, render_action(default)]
    ordered = sorted(actions, key=lambda each: each.get("name", ""))
    document[ACTIONS] = [
        {**each, "priority": (place + 1) * 10}
        for place, each in enumerate(ordered)
        if alias_of(each) in named or alias_of(each) not in known.actions
    ]


def _move_console_addresses(document: Document, _known: KnownObjects) -> None:
    """Give the pages of a realm their addresses, which began with /auth."""
    realm = document.get("realm")
    if not isinstance(realm, str):
        return
    name = quote(realm, safe="")
    account, console = f"/realms/{name}/account/", f"/admin/{name}/console/"
    moved = {
        _ACCOUNT: {
            "rootUrl": "${authBaseUrl}",
            "baseUrl": account,
            "redirectUris": [f"{account}*"],
        },
        _ADMIN_CONSOLE: {
            "rootUrl": "${authAdminUrl}",
            "baseUrl": console,
            "redirectUris": [f"{console}*"],
            "webOrigins": ["+"],
        },
    }

    def move(client: Document) -> None:
        client_id = client.get("clientId")
        if isinstance(client_id, str):
            client.update(moved.get(client_id, {}))

    change_clients(document, move)


def _separate_alternatives(document: Document, _known: KnownObjects) -> None:
    """Put alternatives that stand beside required steps into sub-flows, where they count."""
    flows = flows_of(document)
    if not flows:
        return
    found: list[Flow] = []
    for flow in flows.values():
        found += _with_alternatives_apart(flow)
    document[FLOWS] = found


def _with_alternatives_apart(flow: Flow) -> Iterable[Flow]:
    """Yield the flow, and a sub-flow for each row of alternatives before a required step."""
    steps = steps_of(flow)
    if not all(isinstance(step.get("priority", 0), int) for step in steps):
        return [flow]
    steps = sorted(steps, key=lambda step: step.get("priority", 0))
    requirements = {str(step.get("requirement")) for step in steps}
    if not requirements & _DECIDING or _ALTERNATIVE not in requirements:
        return [flow]
    kept: list[Mapping[str, Any]] = []
    added: list[Flow] = []
    row: list[Mapping[str, Any]] = []
    for step in [*steps, None]:
        requirement = "" if step is None else str(step.get("requirement"))
        if row and (step is None or requirement in _DECIDING):
            added.append(_sub_flow(flow, row, len(added)))
            kept.append(
                {
                    "flowAlias": added[-1]["alias"],
                    "authenticatorFlow": True,
                    "requirement": "REQUIRED",
                    "priority": row[0].get("priority", 0),
                }
            )
            row = []
        if requirement == _ALTERNATIVE and step is not None:
            row.append(step)
        elif step is not None:
            kept.append(step)
    return [{**flow, EXECUTIONS: kept}, *added]


def _sub_flow(flow: Flow, steps: list[Mapping[str, Any]], number: int) -> Flow:
    alias = flow["alias"]
    return {
        "alias": f"{alias} - Alternatives - {number}",
        "description": f"Subflow of {alias} with alternative executions",
        "providerId": "basic-flow",
        "topLevel": False,
        "builtIn": flow.get("builtIn", False),
        EXECUTIONS: [{**step, "priority": (place + 1) * 10} for place, step in enumerate(steps)],
    }


def _require_pkce_of_consoles(document: Document, _known: KnownObjects) -> None:
    def require(client: Document) -> None:
        attributes = client.get("attributes") or {}
        named = client.get("clientId") in (_CONSOLE, _ADMIN_CONSOLE)
        if named and isinstance(attributes, Mapping):
            client["attributes"] = {**attributes, "pkce.code.challenge.method": "S256"}

    change_clients(document, require)


EARLY_STEPS: Final[tuple[tuple[Version, tuple[Step, ...]], ...]] = (
    ((3, 4, 1), (_restrict_frames,)),
    ((4, 0, 0), (_rename_scopes, _allow_scopes_to_registered_clients)),
    ((4, 2, 0), (_number_actions,)),
    ((4, 6, 0), (add_scope("roles", ALWAYS), add_scope("web-origins", ALWAYS))),
    ((6, 0, 0), (add_scope("microprofile-jwt", ON_REQUEST),)),
    ((8, 0, 0), (_move_console_addresses,)),
    ((8, 0, 2), (_separate_alternatives,)),
    ((9, 0, 0), (_require_pkce_of_consoles, add_action("update_user_locale"))),
)
"""What each version changes of the files before it, in their order."""
