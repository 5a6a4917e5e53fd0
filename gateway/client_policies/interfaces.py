"""The interfaces of conditions and executors of client policies, and their configuration.

`PolicyConfiguration` reads JSON of any shape: Keycloak writes flags and numbers as JSON or as text,
according to the client that stored them. `ClientSettings` are set at a client that is created or
changed ("auto-configure"), `EnforcedFlow` is demanded of a sign-in. Keycloak: client policies,
auth-flow-enforcer (26.7). Spec: FAPI 2.0 Security Profile §5.4.1 (signature algorithms)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import timedelta
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


def option(read: Callable[[PolicyConfiguration], Any], default: Any = MISSING) -> Any:
    """Declare a field of a condition or executor; `read` takes its value from a configuration."""
    return field(default=default, metadata={"read": read})


def flag_option(name: str) -> Any:
    """Declare a field that is true or false, false by default."""
    return option(lambda options: options.flag(name), default=False)


def set_option(name: str) -> Any:
    """Declare a field that is a set of texts, empty by default."""
    return option(lambda configuration: frozenset(configuration.texts(name)), frozenset())


def seconds_option(name: str, default: int) -> Any:
    """Declare a field that is a timedelta, given in seconds."""
    return option(
        lambda configuration: timedelta(seconds=configuration.number(name, default)),
        timedelta(seconds=default),
    )


@dataclass(frozen=True, slots=True)
class Configured:
    """A condition or executor with its configuration."""

    provider: ClassVar[str]
    """Keycloak's id."""

    @classmethod
    def from_configuration(cls, configuration: PolicyConfiguration) -> Self:
        """Build it from the options that its fields declare; raises InvalidConfiguration."""
        options = (each for each in fields(cls) if "read" in each.metadata)
        return cls(**{each.name: each.metadata["read"](configuration) for each in options})


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
    """The alias of a flow, and the level that completing it reaches; None: its own levels count."""

    alias: str
    level: int | None = None


@dataclass(frozen=True, slots=True)
class SignInDemands:
    """The demands on a sign-in: a flow in place of that of client or realm, and consent."""

    flow: EnforcedFlow | None = None
    requires_consent: bool = False


class Vote(Enum):
    """A condition's answer about an event."""

    YES = auto()
    NO = auto()
    ABSTAIN = auto()
    """The condition says nothing about events of this kind."""


def vote(holds: bool) -> Vote:  # noqa: FBT001 - the answer itself
    """Return YES or NO."""
    return Vote.YES if holds else Vote.NO


@dataclass(frozen=True, slots=True)
class Condition(Configured, ABC):
    """A condition with its configuration."""

    @abstractmethod
    def vote(self, event: PolicyEvent) -> Vote:
        """Judge an event."""


@dataclass(frozen=True, slots=True)
class Executor(Configured):
    """An executor; it acts by the methods that it overrides. Each `check` raises PolicyRefusal."""

    registration_only: ClassVar[str] = ""
    """Why requests of a client are not judged, only its creation and its changes."""

    def configure(self, change: ClientChange) -> ClientSettings:
        """Return the settings to apply to a new or changed client before it is checked."""
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
        """Return whether users are asked for their consent, also where the client asks for none."""
        return False

    def check_request(self, request: ClientRequest) -> None:
        """Check a request of a client to an endpoint that it calls itself."""

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        """Return the client as tokens are issued to it, also where its own settings differ."""
        return client


@dataclass(frozen=True, slots=True)
class AutoConfigured(Executor, ABC):
    """Demands one setting when a client is created or changed."""

    setting: ClassVar[ClientSettings]
    """Set by `auto-configure`."""
    refusal: ClassVar[tuple[str, str]]
    """Error code and text for a client without the setting."""
    auto_configure: bool = flag_option("auto-configure")

    def configure(self, change: ClientChange) -> ClientSettings:
        return self.setting if self.auto_configure else NOTHING

    def check_change(self, change: ClientChange) -> None:
        if not self.has_setting(change.proposed):
            raise PolicyRefusal(*self.refusal)

    @abstractmethod
    def has_setting(self, client: Client) -> bool:
        """Return whether the client has the setting."""


SECURE_ALGORITHMS: Final = ("PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""The first is the default."""
