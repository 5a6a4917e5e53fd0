"""Parts of the migration of realm files: steps that change flows, client scopes, clients, actions.

What has another type than it should have is left to the readers, which refuse it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.admin.client_scope_defaults import default_client_scopes
from gateway.domain.flows import DEFAULT_ACTIONS
from gateway.representations.client_scopes import render_client_scope
from gateway.representations.flows import render_action

FLOWS: Final = "authenticationFlows"
EXECUTIONS: Final = "authenticationExecutions"
ACTIONS: Final = "requiredActions"
SCOPES: Final = "clientScopes"
_OPENID: Final = "openid-connect"
_BOUND: Final = (
    *("browserFlow", "registrationFlow", "directGrantFlow", "resetCredentialsFlow"),
    *("clientAuthenticationFlow", "dockerAuthenticationFlow", "firstBrokerLoginFlow"),
)

Flow = Mapping[str, Any]
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


def objects_of(document: Mapping[str, Any], name: str) -> list[Any] | None:
    """Return a list of the file; None without one, or where it holds anything but objects."""
    items = document.get(name)
    if isinstance(items, list) and all(isinstance(each, Mapping) for each in items):
        return items
    return None


def alias_of(action: Mapping[str, Any]) -> str:
    """Return the alias of an action, empty for what is no text."""
    alias = action.get("alias")
    return alias if isinstance(alias, str) else ""


def add_action(alias: str) -> Step:
    """Return the step that adds a required action that is not there."""
    default = next(each for each in DEFAULT_ACTIONS if each.alias == alias)

    def add(document: Document, known: KnownObjects) -> None:
        actions = objects_of(document, ACTIONS)
        if actions is None or alias in known.actions:
            return
        if all(each.get("alias") != alias for each in actions):
            document[ACTIONS] = [*actions, render_action(default)]

    return add


def without_flow(alias: str) -> Step:
    """Return the step that removes a flow with its sub-flows, where the realm does not use it."""

    def remove(document: Document, _known: KnownObjects) -> None:
        flows = flows_of(document)
        if alias not in flows or alias in [document.get(name) for name in _BOUND]:
            return
        removed = {flow["alias"] for flow in flows_below(flows, alias)}
        others = [flow for name, flow in flows.items() if name not in removed]
        used = {str(step.get("flowAlias")) for flow in others for step in steps_of(flow)}
        if not removed & used:
            document[FLOWS] = others

    return remove


def without_authenticator(authenticator: str) -> Step:
    """Return the step that removes an authenticator from all forms."""

    def remove(document: Document, _known: KnownObjects) -> None:
        if flows_of(document):
            document[FLOWS] = [_without(flow, authenticator) for flow in document[FLOWS]]

    return remove


def _without(flow: Flow, authenticator: str) -> Flow:
    if flow.get("providerId") != "form-flow":
        return flow
    kept = [step for step in steps_of(flow) if step.get("authenticator") != authenticator]
    return {**flow, EXECUTIONS: kept}


def flows_of(document: Mapping[str, Any]) -> dict[str, Flow]:
    """Return the flows of a file by alias.

    None of them where an alias repeats or anything has a wrong type: a step that writes the flows
    again would drop the parts that the readers have to refuse.
    """
    flows = objects_of(document, FLOWS) or ()
    found = {each["alias"]: each for each in flows if _has_steps(each)}
    return found if len(found) == len(flows) else {}


def _has_steps(flow: Flow) -> bool:
    """Return whether a flow has an alias, and no executions of a wrong type."""
    executions = flow.get(EXECUTIONS)
    return isinstance(flow.get("alias"), str) and (
        executions is None or objects_of(flow, EXECUTIONS) is not None
    )


def steps_of(flow: Flow) -> list[Mapping[str, Any]]:
    """Return the executions of a flow of `flows_of`."""
    return objects_of(flow, EXECUTIONS) or []


def flows_below(flows: Mapping[str, Flow], alias: str) -> Iterable[Flow]:
    """Return the flow and all that it consists of."""
    found: dict[str, Flow] = {}
    waiting = [alias]
    while waiting:
        name = waiting.pop()
        if name in flows and name not in found:
            found[name] = flows[name]
            waiting += [str(step.get("flowAlias")) for step in steps_of(flows[name])]
    return found.values()


@dataclass(frozen=True, slots=True)
class ScopeLists:
    """The lists of a realm and of its clients that a client scope belongs to."""

    of_realm: str
    of_clients: str


ALWAYS: Final = ScopeLists("defaultDefaultClientScopes", "defaultClientScopes")
ON_REQUEST: Final = ScopeLists("defaultOptionalClientScopes", "optionalClientScopes")


def add_scope(name: str, lists: ScopeLists | None = None) -> Step:
    """Return the step that adds a built-in client scope; the clients that list scopes get it.

    Clients of another protocol and bearer-only clients are left alone.
    """
    scope = default_scope(name)

    def add(document: Document, known: KnownObjects) -> None:
        scopes = objects_of(document, SCOPES)
        if scopes is None or any(each.get("name") == name for each in scopes):
            return
        if name not in known.scopes:
            document[SCOPES] = [*scopes, dict(scope)]
        if lists is not None:
            document[lists.of_realm] = _with_name(document.get(lists.of_realm), name)
            listed, protocol = lists.of_clients, scope["protocol"]
            change_clients(document, lambda client: _give_scope(client, name, listed, protocol))

    return add


def default_scope(name: str) -> Document:
    """Return a client scope of each new realm as a file has it, without ids."""
    scope = next(each for each in default_client_scopes("") if each.name == name)
    document: Document = render_client_scope(scope)
    del document["id"]
    for mapper in document.get("protocolMappers", ()):
        mapper.pop("id", None)
    return document


def _with_name(names: Any, name: str) -> Any:
    return [*names, name] if isinstance(names, list) and name not in names else names


def _give_scope(client: Document, name: str, listed: str, protocol: str) -> None:
    """Add the scope to a list of the client; a client with neither list gets those of the realm."""
    lists_scopes = any(client.get(each.of_clients) is not None for each in (ALWAYS, ON_REQUEST))
    if client.get("protocol", _OPENID) != protocol or client.get("bearerOnly") is True:
        return
    if lists_scopes:
        names = client.get(listed)
        client[listed] = _with_name([] if names is None else names, name)


def change_clients(document: Document, change: Callable[[Document], None]) -> None:
    """Call `change` with a copy of each client."""
    clients = objects_of(document, "clients")
    if clients is not None:
        document["clients"] = changed = [dict(each) for each in clients]
        for client in changed:
            change(client)
