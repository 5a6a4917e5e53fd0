"""The flow that client policies choose for a sign-in. Keycloak: auth-flow-enforcer (26.7)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnforcedFlow:
    """The alias of a flow, and the level of authentication that completing it reaches.

    Without a `level`, the levels within the flow count alone.
    """

    alias: str
    level: int | None = None
