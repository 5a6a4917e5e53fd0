"""Flows in files of earlier versions: the steps that are added and taken away."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gateway.domain.flows import Flows
from gateway.representations.flows import default_configs, default_flows, render_flow

_FLOWS: Final = "authenticationFlows"
_STEPS: Final = "authenticationExecutions"
_BROWSER: Final = "browser"
_ORGANIZATION: Final = ("Organization", "Browser - Conditional Organization")
_BOUND: Final = (
    *("browserFlow", "registrationFlow", "directGrantFlow", "resetCredentialsFlow"),
    *("clientAuthenticationFlow", "dockerAuthenticationFlow", "firstBrokerLoginFlow"),
)

_Flow = Mapping[str, Any]


def with_organization_step(document: dict[str, Any]) -> None:
    """Add the step that asks for the organization to the browser flow, unless a part has it."""
    flows = _flows_of(document)
    browser = flows.get(_BROWSER)
    if browser is None or flows.keys() & {*_ORGANIZATION}:
        return
    steps = [step for flow in _below(flows, _BROWSER) for step in _steps_of(flow)]
    if any(step.get("authenticator") == "organization" for step in steps):
        return
    default = _default_flows()
    added = [step for step in default[_BROWSER][_STEPS] if step.get("flowAlias") in _ORGANIZATION]
    document[_FLOWS] = [
        {**flow, _STEPS: [*_steps_of(flow), *added]} if flow is browser else flow
        for flow in document[_FLOWS]
    ] + [default[alias] for alias in _ORGANIZATION]


def without_flow(alias: str) -> Callable[[dict[str, Any]], None]:
    """Return the step that removes a flow with its sub-flows, where the realm does not use it."""

    def remove(document: dict[str, Any]) -> None:
        flows = _flows_of(document)
        if alias not in flows or alias in {document.get(name) for name in _BOUND}:
            return
        removed = {flow["alias"] for flow in _below(flows, alias)}
        others = [flow for name, flow in flows.items() if name not in removed]
        if not removed & {step.get("flowAlias") for flow in others for step in _steps_of(flow)}:
            document[_FLOWS] = others

    return remove


def without_authenticator(authenticator: str) -> Callable[[dict[str, Any]], None]:
    """Return the step that removes an authenticator from all forms."""

    def remove(document: dict[str, Any]) -> None:
        if _flows_of(document):
            document[_FLOWS] = [_without(flow, authenticator) for flow in document[_FLOWS]]

    return remove


def _without(flow: _Flow, authenticator: str) -> _Flow:
    if flow.get("providerId") != "form-flow":
        return flow
    kept = [step for step in _steps_of(flow) if step.get("authenticator") != authenticator]
    return {**flow, _STEPS: kept}


def _flows_of(document: Mapping[str, Any]) -> dict[str, _Flow]:
    """Return the flows of a file by alias; none where anything of them has a wrong type."""
    flows = document.get(_FLOWS)
    if not isinstance(flows, list) or not all(isinstance(each, Mapping) for each in flows):
        return {}
    if not all(isinstance(each.get("alias"), str) for each in flows):
        return {}
    return {each["alias"]: each for each in flows}


def _steps_of(flow: _Flow) -> list[Mapping[str, Any]]:
    steps = flow.get(_STEPS)
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
