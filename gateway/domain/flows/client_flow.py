"""The methods that the flow of client authentication permits.

Keycloak: ClientAuthenticationFlow, measured
"""

from typing import Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS
from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.flows import Flow, FlowKind, Flows

CLIENT_METHODS: Final = frozenset(each.id for each in CLIENT_AUTHENTICATORS)
"""Keycloak's names of what a client may authenticate by."""


def client_methods(flows: Flows, flow: Flow) -> frozenset[str]:
    """Return by what clients may authenticate; raises UnusableSetting."""
    del flows
    if flow.kind is not FlowKind.CLIENT or not flow.top_level:
        raise UnusableSetting(f"'{flow.alias}' is no flow in which clients authenticate")
    methods = frozenset(step.authenticator or "" for step in flow.effective)
    if not methods <= CLIENT_METHODS:
        raise UnusableSetting(f"'{flow.alias}' must consist of methods of clients alone")
    return methods
