"""The interfaces of conditions and executors of client policies, and what both share.

`Configuration` reads JSON of any shape: Keycloak writes flags and numbers as JSON or as text,
according to the client that stored them. `ClientSettings` are set at a client that is created or
changed ("auto-configure"), `EnforcedFlow` is demanded of a sign-in.
Keycloak: client policies, auth-flow-enforcer (26.7).
Spec: FAPI 2.0 Security Profile §5.4.1 (signature algorithms)
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, ClassVar, Final, Self

from gateway.client_policies.events import (
    AuthorizationRequested,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
    InvalidConfiguration,
    PolicyEvent,
    PolicyRefusal,
)
from gateway.domain.clients import Client

_FLAGS: Final = {"true": True, "false": False, "": False}
_LARGEST: Final = 2**31 - 1
_DIGITS: Final = len(str(_LARGEST))
_MOST: Final = 1000


class PolicyConfiguration:
    """The members of one configuration; null counts as absent. Raises InvalidConfiguration."""

    def __init__(self, members: Any) -> None:
        if members is not None and not isinstance(members, Mapping):
            raise InvalidConfiguration("the configuration must be an object")
        self._members: Mapping[str, Any] = members or {}

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self._members.get(name)
        if value is None:
            return default
        found = value if isinstance(value, bool) else _FLAGS.get(str(value).lower())
        if found is None:
            raise _refused(name, value, "true or false")
        return found

    def text(self, name: str) -> str:
        """Return a text, empty where it is absent."""
        value = self._members.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise _refused(name, value, "a text")
        return value

    def number(self, name: str, default: int) -> int:
        """Return a whole number from 0 on."""
        value = self._members.get(name)
        text = str(value)
        if value in (None, ""):
            return default
        fits = text.isdecimal() and len(text) <= _DIGITS
        if not fits or int(text) > _LARGEST:
            raise _refused(name, value, f"a whole number from 0 to {_LARGEST}")
        return int(text)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; a single text is a list of one."""
        value = self._members.get(name)
        items = [value] if isinstance(value, str) else ([] if value is None else value)
        if not isinstance(items, list) or len(items) > _MOST:
            raise _refused(name, value, f"a list of at most {_MOST} texts")
        if not all(isinstance(item, str) for item in items):
            raise _refused(name, value, "a list of texts")
        return tuple(items)


def _refused(name: str, value: Any, allowed: str) -> InvalidConfiguration:
    return InvalidConfiguration(f"{name} is {str(value)[:50]!r}, allowed is {allowed}")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Members of the client's representation, and attributes, that replace those it has."""

    members: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.members or self.attributes)


NOTHING = ClientSettings()


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


class Vote(Enum):
    """What a condition says of an event."""

    YES = auto()
    NO = auto()
    ABSTAIN = auto()
    """The condition says nothing about events of this kind."""


def vote(holds: bool) -> Vote:  # noqa: FBT001 - the answer itself
    """Return YES or NO."""
    return Vote.YES if holds else Vote.NO


@dataclass(frozen=True, slots=True)
class Condition(ABC):
    """A condition with its configuration."""

    provider: ClassVar[str]
    """Keycloak's id."""

    @classmethod
    @abstractmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        """Return the condition so configured; raises InvalidConfiguration."""

    @abstractmethod
    def vote(self, event: PolicyEvent) -> Vote:
        """Judge an event."""


@dataclass(frozen=True, slots=True)
class Executor:
    """An executor with its configuration: it does nothing but what it overrides.

    Each `check` raises PolicyRefusal for what the policy forbids.
    """

    provider: ClassVar[str]
    """Keycloak's id."""
    registration_only: ClassVar[str] = ""
    """Why requests of a client are not judged, only its creation and its changes."""

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        """Return the executor so configured; raises InvalidConfiguration."""
        del configuration
        return cls()

    def configure(self, change: ClientChange) -> ClientSettings:
        """Return what is set at a client that is created or changed, before it is checked."""
        del change
        return NOTHING

    def check_change(self, change: ClientChange) -> None:
        """Check a client that is about to be created or changed."""

    def check_access(self, access: ClientChange) -> None:
        """Check that a client may be viewed or removed."""

    def check_start(self, start: AuthorizationStart) -> None:
        """Check an authorization request before its parameters are verified."""

    def check_authorization(self, request: AuthorizationRequested) -> None:
        """Check a verified authorization request."""

    def enforced_flow(self) -> EnforcedFlow | None:
        """Return the flow that signs the user of an authorization request in."""
        return None

    def requires_consent(self) -> bool:
        """Return whether users are asked for their consent, whatever the client's setting."""
        return False

    def check_request(self, request: ClientRequest) -> None:
        """Check a request of a client to an endpoint that it calls itself."""

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        """Return the client as tokens are issued to it, also where its own settings differ."""
        del request
        return client


@dataclass(frozen=True, slots=True)
class AutoConfigured(Executor, ABC):
    """Demands one setting when a client is created or changed."""

    auto_configure: bool = False

    @classmethod
    def read(cls, configuration: PolicyConfiguration) -> Self:
        return cls(configuration.flag("auto-configure"))

    def configure(self, change: ClientChange) -> ClientSettings:
        del change
        return self.wanted() if self.auto_configure else NOTHING

    def check_change(self, change: ClientChange) -> None:
        refusal = self.refusal(change.proposed)
        if refusal is not None:
            raise refusal

    @abstractmethod
    def wanted(self) -> ClientSettings:
        """Return what `auto-configure` sets."""

    @abstractmethod
    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        """Return the refusal of a client without the setting."""


SECURE_ALGORITHMS: Final = ("PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""The first is the default."""
