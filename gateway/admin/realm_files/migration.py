"""Files of earlier versions, and what a new realm of such a file has in version 26.7.

A file that names its `keycloakVersion` is brought up to date version by version, before anything
of it is read; one that names none is taken as it is. What no realm of this product has (themes
of Red Hat, LDAP, rights of administrators by policy) stays as it is.

A file that is merged into a realm is migrated as well, so that its second import changes nothing;
objects that a migration would add are left to the realm where the realm has them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from gateway.admin.client_scope_defaults import default_client_scopes
from gateway.domain.flows import DEFAULT_ACTIONS, Flows, default_configs, default_flows
from gateway.domain.realm import MASTER
from gateway.representations.client_scopes import render_client_scope
from gateway.representations.flows import render_action, render_flow
from gateway.representations.stored_user_profile import (
    allowing_unmanaged_attributes,
    carries_profile,
)

_FLOWS: Final = "authenticationFlows"
_EXECUTIONS: Final = "authenticationExecutions"
_BROWSER: Final = "browser"
_ORGANIZATION: Final = ("Organization", "Browser - Conditional Organization")
_BOUND: Final = (
    *("browserFlow", "registrationFlow", "directGrantFlow", "resetCredentialsFlow"),
    *("clientAuthenticationFlow", "dockerAuthenticationFlow", "firstBrokerLoginFlow"),
)

_Flow = Mapping[str, Any]
Document = dict[str, Any]
Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class KnownObjects:
    """Names of what the realm has before the import; a new realm has nothing."""

    is_new: bool = True
    scopes: frozenset[str] = frozenset()
    flows: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    """The aliases of its required actions."""


NEW_REALM: Final = KnownObjects()
Step = Callable[[Document, KnownObjects], None]


def with_organization_step(document: Document, known: KnownObjects) -> None:
    """Add the step that asks for the organization to the browser flow, unless a part has it."""
    flows = _flows_of(document)
    browser = flows.get(_BROWSER)
    if browser is None or flows.keys() & {*_ORGANIZATION}:
        return
    steps = [step for flow in _below(flows, _BROWSER) for step in _steps_of(flow)]
    if any(step.get("authenticator") == "organization" for step in steps):
        return
    default = _default_flows()
    added = [
        step for step in default[_BROWSER][_EXECUTIONS] if step.get("flowAlias") in _ORGANIZATION
    ]
    document[_FLOWS] = [
        {**flow, _EXECUTIONS: [*_steps_of(flow), *added]} if flow is browser else flow
        for flow in document[_FLOWS]
    ] + [default[alias] for alias in _ORGANIZATION if alias not in known.flows]


def without_flow(alias: str) -> Step:
    """Return the step that removes a flow with its sub-flows, where the realm does not use it."""

    def remove(document: Document, _known: KnownObjects) -> None:
        flows = _flows_of(document)
        if alias not in flows or alias in [document.get(name) for name in _BOUND]:
            return
        removed = {flow["alias"] for flow in _below(flows, alias)}
        others = [flow for name, flow in flows.items() if name not in removed]
        used = {str(step.get("flowAlias")) for flow in others for step in _steps_of(flow)}
        if not removed & used:
            document[_FLOWS] = others

    return remove


def without_authenticator(authenticator: str) -> Step:
    """Return the step that removes an authenticator from all forms."""

    def remove(document: Document, _known: KnownObjects) -> None:
        if _flows_of(document):
            document[_FLOWS] = [_without(flow, authenticator) for flow in document[_FLOWS]]

    return remove


def _without(flow: _Flow, authenticator: str) -> _Flow:
    if flow.get("providerId") != "form-flow":
        return flow
    kept = [step for step in _steps_of(flow) if step.get("authenticator") != authenticator]
    return {**flow, _EXECUTIONS: kept}


def _flows_of(document: Mapping[str, Any]) -> dict[str, _Flow]:
    """Return the flows of a file by alias; none where anything of them has a wrong type."""
    flows = document.get(_FLOWS)
    if not isinstance(flows, list) or not all(isinstance(each, Mapping) for each in flows):
        return {}
    if not all(isinstance(each.get("alias"), str) for each in flows):
        return {}
    return {each["alias"]: each for each in flows}


def _steps_of(flow: _Flow) -> list[Mapping[str, Any]]:
    steps = flow.get(_EXECUTIONS)
    return [each for each in steps if isinstance(each, Mapping)] if isinstance(steps, list) else []


def _below(flows: Mapping[str, _Flow], alias: str) -> Iterable[_Flow]:
    """Return the flow and all that it consists of."""
    found: dict[str, _Flow] = {}
    waiting = [alias]
    while waiting:
        name = waiting.pop()
        if name in flows and name not in found:
            found[name] = flows[name]
            waiting += [str(step.get("flowAlias")) for step in _steps_of(flows[name])]
    return found.values()


def _default_flows() -> dict[str, dict[str, Any]]:
    """Return the flows of a new realm as a file has them, by alias, without their ids."""
    flows, configs = Flows(default_flows("").values()), default_configs("")
    rendered = [render_flow(flows, flow, configs) for flow in flows]
    return {
        flow["alias"]: {name: value for name, value in flow.items() if name != "id"}
        for flow in rendered
    }


_VERSION: Final = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:\.([0-9]{1,4}))?(?:[.-].*)?")
_ACTIONS: Final = "requiredActions"
_SCOPES: Final = "clientScopes"
_DEFAULT_SCOPES: Final = "defaultDefaultClientScopes"
_LIGHTWEIGHT: Final = "client.use.lightweight.access.token.enabled"
_PROFILE_ENABLED: Final = "userProfileEnabled"

_PARAMETERIZED: Final = {
    "is.dynamic.scope": "is.parameterized.scope",
    "dynamic.scope.regexp": "parameterized.scope.regexp",
}


def migrated(document: Mapping[str, Any], known: KnownObjects = NEW_REALM) -> Mapping[str, Any]:
    """Return the file of a realm as one of Keycloak 26.7.

    What has another type than it should have is left to the readers, which refuse it.
    """
    version = _version_of(document.get("keycloakVersion"))
    found = dict(document)
    for since, steps in _STEPS:
        if version is not None and version < since:
            for step in steps:
                step(found, known)
    return found


def _version_of(text: object) -> Version | None:
    found = _VERSION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    major, minor, patch = (int(part or 0) for part in found.groups())
    return major, minor, patch


def _objects(document: Mapping[str, Any], name: str) -> list[Any] | None:
    """Return a list of the file; None without one, or where it holds anything but objects."""
    items = document.get(name)
    if isinstance(items, list) and all(isinstance(each, Mapping) for each in items):
        return items
    return None


def _alias_of(action: Mapping[str, Any]) -> str:
    """Return the alias of an action, empty for what is no text."""
    alias = action.get("alias")
    return alias if isinstance(alias, str) else ""


def _add_action(alias: str) -> Step:
    """Return the step that adds a required action that is not there."""
    default = next(each for each in DEFAULT_ACTIONS if each.alias == alias)

    def add(document: Document, known: KnownObjects) -> None:
        actions = _objects(document, _ACTIONS)
        if actions is None or alias in known.actions:
            return
        if all(each.get("alias") != alias for each in actions):
            document[_ACTIONS] = [*actions, render_action(default)]

    return add


def _reorder_actions(document: Document, known: KnownObjects) -> None:
    """Ask for a one-time password and for a new password after the address is verified."""
    actions = _objects(document, _ACTIONS)
    if known.is_new and actions is None and document.get(_ACTIONS) is None:
        actions = [render_action(each) for each in DEFAULT_ACTIONS]
    places = {_alias_of(each): each.get("priority", 0) for each in actions or ()}
    verified = places.get("VERIFY_EMAIL")
    if actions is None or not isinstance(verified, int):
        return
    otp, password = "CONFIGURE_TOTP", "UPDATE_PASSWORD"
    if (verified, places.get(otp), places.get(password)) == (50, 10, 30):
        moved = {otp: 54, password: 57}
    else:
        moved, last = {}, verified
        taken = {place for place in places.values() if isinstance(place, int)}
        for alias in (each for each in (otp, password) if each in places):
            last = next(place for place in count(last + 1) if place not in taken)
            moved[alias] = last
    document[_ACTIONS] = [
        {**each, "priority": moved.get(_alias_of(each), each.get("priority", 0))}
        for each in actions
    ]


def _add_scope(name: str, *, to_clients: bool) -> Step:
    """Return the step that adds a client scope of each realm, and to every client that has any."""

    def add(document: Document, known: KnownObjects) -> None:
        scopes = _objects(document, _SCOPES)
        if scopes is None or any(each.get("name") == name for each in scopes):
            return
        if name not in known.scopes:
            document[_SCOPES] = [*scopes, _default_scope(name)]
        if to_clients:
            document[_DEFAULT_SCOPES] = _with_name(document.get(_DEFAULT_SCOPES), name)
            _change_clients(document, lambda client: _give_scope(client, name))

    return add


def _default_scope(name: str) -> Document:
    scope = next(each for each in default_client_scopes("") if each.name == name)
    document: Document = render_client_scope(scope)
    del document["id"]
    for mapper in document.get("protocolMappers", ()):
        mapper.pop("id", None)
    return document


def _with_name(names: Any, name: str) -> Any:
    return [*names, name] if isinstance(names, list) and name not in names else names


def _give_scope(client: Document, name: str) -> None:
    if client.get("protocol", "openid-connect") == "openid-connect":
        names = "defaultClientScopes"
        client[names] = _with_name(client.get(names), name)


def _change_clients(document: Document, change: Callable[[Document], None]) -> None:
    clients = _objects(document, "clients")
    if clients is not None:
        document["clients"] = changed = [dict(each) for each in clients]
        for client in changed:
            change(client)


def _lighten_tokens_of_administrators(document: Document, _known: KnownObjects) -> None:
    def lighten(client: Document) -> None:
        if client.get("clientId") in ("security-admin-console", "admin-cli"):
            client["fullScopeAllowed"] = True
            attributes = client.get("attributes") or {}
            if isinstance(attributes, Mapping):
                client["attributes"] = {**attributes, _LIGHTWEIGHT: "true"}

    _change_clients(document, lighten)


def _rename_parameterized_scopes(document: Document, _known: KnownObjects) -> None:
    """Give the attributes of parameterized client scopes their present names."""
    scopes = _objects(document, _SCOPES)
    if scopes is None:
        return
    document[_SCOPES] = [
        {
            **each,
            "attributes": {
                _PARAMETERIZED.get(name, name): text for name, text in each["attributes"].items()
            },
        }
        if isinstance(each.get("attributes"), Mapping)
        else each
        for each in scopes
    ]


def _allow_unmanaged_attributes(document: Document, known: KnownObjects) -> None:
    """Let users have attributes that the profile does not name, unless it was in use already."""
    attributes = document.get("attributes")
    enabled = False
    if isinstance(attributes, Mapping):
        enabled = str(attributes.get(_PROFILE_ENABLED)).lower() == "true"
        document["attributes"] = {
            name: text for name, text in attributes.items() if name != _PROFILE_ENABLED
        }
    components = document.get("components")
    if not enabled and (known.is_new or carries_profile(components)):
        document["components"] = allowing_unmanaged_attributes(components)


def _bind_first_broker_login(document: Document, _known: KnownObjects) -> None:
    flows = _objects(document, "authenticationFlows")
    alias = "first broker login"
    if any(each.get("alias") == alias for each in flows or ()):
        document["firstBrokerLoginFlow"] = alias


def _set_theme(name: str, *before: str) -> Step:
    def change(document: Document, _known: KnownObjects) -> None:
        if document.get(name) in before:
            document[name] = "keycloak.v2"

    return change


def _add_organization_step(document: Document, known: KnownObjects) -> None:
    if document.get("realm") != MASTER:
        with_organization_step(document, known)


_STEPS: Final[tuple[tuple[Version, tuple[Step, ...]], ...]] = (
    ((18, 0, 0), (_add_scope("acr", to_clients=True),)),
    ((21, 0, 0), (_set_theme("adminTheme", "keycloak", "rh-sso"),)),
    (
        (22, 0, 0),
        (
            without_flow("http challenge"),
            _set_theme("accountTheme", "keycloak", "rh-sso", "rh-sso.v2"),
        ),
    ),
    ((23, 0, 0), (without_authenticator("registration-profile-action"),)),
    ((24, 0, 0), (_allow_unmanaged_attributes, _bind_first_broker_login)),
    ((24, 0, 3), (_add_action("delete_credential"),)),
    ((25, 0, 0), (_add_scope("basic", to_clients=True),)),
    ((26, 0, 0), (_lighten_tokens_of_administrators,)),
    ((26, 1, 0), (_add_scope("service_account", to_clients=False),)),
    ((26, 3, 0), (_add_action("idp_link"),)),
    ((26, 6, 1), (_add_organization_step,)),
    ((26, 7, 0), (_reorder_actions, _rename_parameterized_scopes)),
)
"""What each version changes of the files before it, in their order."""
