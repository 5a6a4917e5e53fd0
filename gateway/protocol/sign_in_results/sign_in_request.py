"""What a sign-in is for, as far as every sign-in in a browser reads it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from gateway.domain.ports.directory import ClientEntry
from gateway.protocol.authorization import Prompt, RequestedLevel
from gateway.protocol.scopes import GrantedScopes


class SignInRequest(Protocol):
    """The request of a client for its response, or a device that a user connects.

    `AuthorizationRequest` describes the members.
    """

    @property
    def client(self) -> ClientEntry: ...
    @property
    def scopes(self) -> GrantedScopes: ...
    @property
    def prompt(self) -> frozenset[Prompt]: ...
    @property
    def max_age(self) -> timedelta | None: ...
    @property
    def action(self) -> str | None: ...
    @property
    def action_parameter(self) -> str | None: ...
    @property
    def login_hint(self) -> str | None: ...
    @property
    def hinted_user(self) -> str | None: ...
    @property
    def level(self) -> RequestedLevel | None: ...
    @property
    def claims(self) -> Mapping[str, Any]: ...
    @property
    def event_details(self) -> Mapping[str, str]: ...
    def stored(self) -> Mapping[str, str]: ...
