"""The input of each step of a sign-in, without the state of the sign-in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.sessions import UserSession
from gateway.domain.users import User


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The user session of the browser's identity cookie, which was verified, and its user."""

    session: UserSession
    user: User
    authenticated_at: datetime


@dataclass(frozen=True, slots=True)
class RequestedAuthentication:
    """What the client requires of the sign-in.

    `level` is the level of authentication; with `level_is_essential` a lower one is an error.
    `reauthenticate` and `max_age` require credentials again where the browser is signed in.
    `flow_level` is the level that completing the flow reaches, whatever levels are within it.
    `action` is a required action that the client asks for (`kc_action`), `action_parameter` what
    follows its name behind a colon.
    `login_hint` fills in the user name; `remembered_username` as well, from an earlier sign-in.
    """

    level: int | None = None
    level_is_essential: bool = False
    flow_level: int | None = None
    reauthenticate: bool = False
    max_age: timedelta | None = None
    action: str | None = None
    action_parameter: str | None = field(default=None, repr=False)
    login_hint: str | None = field(default=None, repr=False)
    remembered_username: str | None = field(default=None, repr=False)


_ANYTHING: Final = RequestedAuthentication()


@dataclass(frozen=True, slots=True)
class SignInContext:
    """One request of one browser or client, from an address.

    `scopes` are the names of the client scopes that were requested, defaults included.
    `certificate` is that of the TLS connection. `has_pages` says that the user can be asked to
    perform required actions, which otherwise refuse the sign-in; `may_ask` that this request may
    show one. `issuer` is the URL of the realm, which links of mails begin with.
    """

    realm: RealmEntry
    client: Client
    address: str
    now: datetime
    scopes: frozenset[str] = frozenset()
    certificate: ClientCertificate | None = None
    browser_session: BrowserSession | None = None
    has_pages: bool = False
    may_ask: bool = True
    issuer: str = ""
    requested: RequestedAuthentication = _ANYTHING
    form: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The credentials of the password grant; pages submit theirs."""
