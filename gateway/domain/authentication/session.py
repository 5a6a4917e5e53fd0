"""A sign-in that is not finished: one value, which any gateway can continue.

Keycloak: AuthenticationSessionModel, RootAuthenticationSessionModel, ClientSessionCode
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from gateway.domain.realm import TokenLifespans

LOCALE: Final = "locale"
"""The note with the language that the user chose on a page of the sign-in."""
_ID_BYTES: Final = 18
_TAB_BYTES: Final = 8
_CODE_BYTES: Final = 32


class ExecutionStatus(StrEnum):
    """What became of an execution so far. Keycloak: CommonClientSessionModel."""

    CHALLENGED = "C"
    """It waits for the user."""
    SUCCESS = "S"
    FAILED = "F"
    ATTEMPTED = "A"
    """It neither succeeded nor failed: another alternative is next."""
    SETUP_REQUIRED = "R"
    """The user sets it up after the sign-in, by a required action."""


class Stage(StrEnum):
    """How far a sign-in is."""

    FLOW = "flow"
    """Executions of the flow are next."""
    AUTHENTICATED = "authenticated"
    """The flow succeeded; required actions and consent are next, then the response."""


@dataclass(frozen=True, slots=True)
class AuthenticationSession:
    """One tab of one browser that signs in to one client.

    `id` (24 characters) is the browser's, and becomes the id of the user session; `tab_id` (11
    characters) tells its tabs apart. `session_code` (43 characters) is a secret of the page that
    was shown last, and changes with every step; `version` grows with every step.
    """

    id: str
    tab_id: str
    realm_id: str
    client: str
    """The client's internal id."""
    started_at: datetime
    flow: str
    """The id of the flow."""
    flow_version: str = ""
    """As `SignInFlow.version` was when the flow began; empty where it is not known."""
    request: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The verified parameters of the client's request; the engine does not read them."""
    stage: Stage = Stage.FLOW
    execution: str | None = None
    """The id of the execution that waits for the user."""
    statuses: Mapping[str, ExecutionStatus] = field(default_factory=dict)
    """By id of the execution."""
    user_id: str | None = None
    """The user that was identified; None before, and for a name that no user has."""
    attempted_username: str | None = field(default=None, repr=False)
    """What was submitted as user name."""
    remember_me: bool = False
    level: int | None = None
    """The level of authentication that was reached; None where the flow has no levels."""
    used: frozenset[str] = frozenset()
    """The kinds of credentials that were used: `password`, `otp`, `cert`."""
    required_action: str | None = None
    """The required action that waits for the user."""
    notes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What authenticators remember."""
    session_code: str = field(default="", repr=False)
    version: int = 0

    @property
    def waits_for(self) -> str | None:
        """What the shown form belongs to: an execution, or the alias of a required action."""
        return self.execution if self.required_action is None else self.required_action

    def with_note(self, name: str, text: str | None) -> Self:
        """Return the session with a note; None removes it."""
        others = {other: kept for other, kept in self.notes.items() if other != name}
        return replace(self, notes=others if text is None else {**others, name: text})

    def next_step(self, **changes: Any) -> Self:
        """Return the session with changed fields, a new code and the next version."""
        code = secrets.token_urlsafe(_CODE_BYTES)
        return replace(self, session_code=code, version=self.version + 1, **changes)

    def is_current(self, session_code: str | None) -> bool:
        """Tell whether a code belongs to the page that was shown last."""
        given = (session_code or "").encode("utf-8", "surrogatepass")
        return bool(self.session_code) and secrets.compare_digest(self.session_code.encode(), given)


def new_browser_id() -> str:
    """Return an id for the sign-ins of a browser: 144 random bits."""
    return secrets.token_urlsafe(_ID_BYTES)


def new_authentication_session(
    *,
    realm_id: str,
    client: str,
    flow: str,
    flow_version: str = "",
    started_at: datetime,
    request: Mapping[str, str] | None = None,
    session_id: str | None = None,
    notes: Mapping[str, str] | None = None,
) -> AuthenticationSession:
    """Return a sign-in of a new tab; it has no code before its first step.

    `session_id` is that of the browser's other tabs; None is a browser without any.
    """
    return AuthenticationSession(
        id=session_id or new_browser_id(),
        tab_id=secrets.token_urlsafe(_TAB_BYTES),
        realm_id=realm_id,
        client=client,
        started_at=started_at,
        flow=flow,
        flow_version=flow_version,
        request=request or {},
        notes=notes or {},
    )


def session_of_one_request(
    *, realm_id: str, client: str, flow: str, started_at: datetime
) -> AuthenticationSession:
    """Return a sign-in that is finished at once, without pages; it is never stored."""
    return AuthenticationSession(
        id="", tab_id="", realm_id=realm_id, client=client, flow=flow, started_at=started_at
    )


def expires_at(
    lifespans: TokenLifespans, session: AuthenticationSession, now: datetime
) -> datetime:
    """Return when the sign-in ends unless its next step comes before.

    `accessCodeLifespanLogin` counts from its begin; `accessCodeLifespanUserAction` counts from
    the page of a required action, which does not live longer by being opened again and again: a
    recent sign-in, which changing a password requires, would never become an old one.
    Keycloak: token settings
    """
    latest = session.started_at + lifespans.access_code_login
    if session.required_action is None:
        return latest
    return min(now, latest) + lifespans.access_code_user_action
