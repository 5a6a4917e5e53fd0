"""The value that the later steps of a flow decide by, and the shape of authenticators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Protocol

from gateway.domain.clients import Client
from gateway.domain.flows import SignInFlow
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User

Config = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SignIn:
    """The sign-in of an identified user.

    `device` is the user's first device for one-time passwords, `code` the one that was sent.
    `scopes` are the names of the client scopes that were requested, defaults included.
    """

    realm: Realm
    client: Client
    scopes: frozenset[str]
    user: User
    device: Credential | None
    code: Secret | None
    now: datetime
    used: set[str]
    """The kinds of credentials that were used so far: `password`, `cert`, `otp`."""
    completed: set[str] = field(default_factory=set)
    """Aliases of the sub-flows that succeeded so far."""


class Authenticator(Protocol):
    """A step of a flow, after the user was identified."""

    id: ClassVar[str]

    def is_configured(self, sign_in: SignIn) -> bool:
        """Return whether the user has what this asks for: `conditional-user-configured`."""
        ...

    async def authenticate(self, sign_in: SignIn, config: Config) -> None:
        """Return if it succeeds; raises SignInRefused or StoreUnavailable."""
        ...


class Condition(Protocol):
    """Decides whether its flow is run."""

    id: ClassVar[str]

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether `flow` is run; raises StoreUnavailable."""
        ...


def is_set(config: Config, name: str) -> bool:
    """Return whether a flag is set."""
    return config.get(name, "").lower() == "true"
