"""auth-flow-enforcer: which flow signs the user in. Keycloak: client policies (26.7).

It acts on authorization requests alone: no other request has a flow of the browser.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.enforced_flow import EnforcedFlow
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import InvalidConfiguration

_ALIAS = "auth-flow-alias"


@dataclass(frozen=True, slots=True)
class AuthFlowEnforcer(Executor):
    """Sets the flow, and the level of authentication that it reaches."""

    provider: ClassVar = "auth-flow-enforcer"
    flow: EnforcedFlow

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        alias = configuration.text(_ALIAS)
        if not alias:
            raise InvalidConfiguration(f"{_ALIAS} must be the alias of a flow")
        return cls(EnforcedFlow(alias, configuration.number("auth-flow-loa", 0) or None))

    def enforced_flow(self) -> EnforcedFlow | None:
        return self.flow
