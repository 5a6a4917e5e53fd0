"""What client policies demand of a sign-in. Keycloak: auth-flow-enforcer (26.7)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnforcedFlow:
    """The alias of a flow, and the level of authentication that completing it reaches.

    Without a `level`, the levels within the flow count alone.
    """

    alias: str
    level: int | None = None


@dataclass(frozen=True, slots=True)
class SignInDemands:
    """How the user of an authorization request signs in.

    Without a `flow` it is that of the client or realm. `requires_consent` is beside the client's
    own setting.
    """

    flow: EnforcedFlow | None = None
    requires_consent: bool = False
