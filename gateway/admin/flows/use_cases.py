"""The administrative use cases of authentication flows, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.flows.administration import FlowAdministration
from gateway.admin.flows.authenticator_configs import AuthenticatorConfigs
from gateway.admin.flows.executions import ExecutionAdministration
from gateway.admin.flows.required_actions import RequiredActions


@dataclass(frozen=True, slots=True)
class FlowUseCases:
    """Every use case of authentication flows and required actions."""

    administration: FlowAdministration
    executions: ExecutionAdministration
    configs: AuthenticatorConfigs
    required_actions: RequiredActions
