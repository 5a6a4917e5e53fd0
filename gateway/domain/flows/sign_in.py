"""What a realm's flows and required actions come to at a sign-in.

Keycloak: the bound flows, required actions that are asked for by what is true of a user
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.direct_grant import (
    STANDARD_GRANT,
    DirectGrantFlow,
    direct_grant_flow,
)
from gateway.domain.flows.effects import CLIENT_METHODS, client_methods
from gateway.domain.flows.flows import Flow, Flows
from gateway.domain.realm import FlowBindings

UPDATE_PASSWORD: Final = "UPDATE_PASSWORD"  # noqa: S105 - the name of a required action
VERIFY_EMAIL: Final = "VERIFY_EMAIL"
VERIFY_PROFILE: Final = "VERIFY_PROFILE"
REQUIRED_ACTIONS: Final = frozenset(
    {
        "CONFIGURE_RECOVERY_AUTHN_CODES",
        "CONFIGURE_TOTP",
        "TERMS_AND_CONDITIONS",
        "UPDATE_EMAIL",
        UPDATE_PASSWORD,
        "UPDATE_PROFILE",
        VERIFY_EMAIL,
        VERIFY_PROFILE,
        "delete_account",
        "delete_credential",
        "idp_link",
        "update_user_locale",
        "webauthn-register",
        "webauthn-register-passwordless",
    }
)
"""Aliases of Keycloak's built-in required actions (26.7)."""
DIRECT_GRANT: Final = "direct_grant"
"""The use for which a client may have a flow of its own."""


@dataclass(frozen=True, slots=True)
class RequiredAction:
    """An action that users may have to perform. Keycloak: RequiredActionProviderModel."""

    alias: str
    name: str | None
    provider: str
    enabled: bool = True
    is_default: bool = False
    """New users have to perform it."""
    priority: int = 0
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SignInDemands:
    """What a sign-in requires; `off` are required actions that nothing requires by itself."""

    flow: DirectGrantFlow = STANDARD_GRANT
    off: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SignInRules:
    """The rules of a realm. `direct_grant` None refuses every sign-in: the flow is unusable."""

    direct_grant: DirectGrantFlow | None = STANDARD_GRANT
    direct_grants: Mapping[str, DirectGrantFlow] = field(default_factory=dict)
    """By id of a flow, for clients that have one of their own."""
    client_methods: frozenset[str] = CLIENT_METHODS
    off: frozenset[str] = frozenset()
    """Aliases of the actions that are required only where an administrator has set them."""

    def demands(self, overrides: Mapping[str, str]) -> SignInDemands | None:
        """Return what a sign-in through a client with these flow overrides requires.

        None refuses every sign-in: the flow was removed, or is unusable.
        """
        own = overrides.get(DIRECT_GRANT)
        flow = self.direct_grant if own is None else self.direct_grants.get(own)
        return None if flow is None else SignInDemands(flow, self.off)


STANDARD: Final = SignInRules()


def sign_in_rules(
    bindings: FlowBindings, flows: Flows, actions: Iterable[RequiredAction], known: Iterable[str]
) -> SignInRules:
    """Return what flows and actions come to; of `known` aliases those not among them are off."""
    grants = {
        flow.id: found
        for flow in flows
        if flow.top_level and (found := _grant(flows, flow)) is not None
    }
    grant = flows.named(bindings.direct_grant)
    clients = flows.named(bindings.client_authentication)
    enabled = {action.alias for action in actions if action.enabled}
    return SignInRules(
        direct_grant=None if grant is None else grants.get(grant.id),
        direct_grants=grants,
        client_methods=frozenset() if clients is None else _methods(flows, clients),
        off=frozenset(known) - enabled,
    )


def _grant(flows: Flows, flow: Flow) -> DirectGrantFlow | None:
    try:
        return direct_grant_flow(flows, flow)
    except UnusableSetting:
        return None


def _methods(flows: Flows, flow: Flow) -> frozenset[str]:
    try:
        return client_methods(flows, flow)
    except UnusableSetting:
        return frozenset()
