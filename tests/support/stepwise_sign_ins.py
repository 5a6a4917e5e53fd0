"""Sign-ins in a browser, over real stores, for tests."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gateway.authentication.engine import (
    BrowserSession,
    Challenged,
    RequestedAuthentication,
    SignedIn,
    SignInContext,
)
from gateway.authentication.sign_in_engine import SignInEngine
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.authentication import (
    AuthenticationSession,
    FormName,
    new_authentication_session,
)
from gateway.domain.flows import (
    AuthenticatorConfig,
    Execution,
    Flow,
    FlowKind,
    Flows,
    Requirement,
    SignInRules,
    rules_in,
    sign_in_flow,
)
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import Realm
from gateway.domain.sessions import UserSession
from gateway.domain.users import User
from tests.support.password_logins import ADDRESS, PASSWORD, Gateway
from tests.support.stored_values import client

ANYTHING = RequestedAuthentication()
Form = dict[str, str]
Step = Any
"""A `SignInResult`: each test says which it expects."""


@dataclass(frozen=True, slots=True)
class FlowPart:
    """A step of a flow to be made: an authenticator, or a sub-flow of `steps`."""

    name: str
    requirement: Requirement = Requirement.REQUIRED
    config: tuple[tuple[str, str], ...] = ()
    steps: tuple["FlowPart", ...] = ()


def required(name: str, **config: str) -> FlowPart:
    """Return a required authenticator; underscores of settings stand for hyphens."""
    return FlowPart(
        name, config=tuple((key.replace("_", "-"), text) for key, text in config.items())
    )


def either(name: str) -> FlowPart:
    """Return an alternative authenticator."""
    return FlowPart(name, Requirement.ALTERNATIVE)


def sub_flow(
    alias: str, *steps: FlowPart, requirement: Requirement = Requirement.REQUIRED
) -> FlowPart:
    """Return a sub-flow."""
    return FlowPart(alias, requirement, steps=steps)


def rules(*steps: FlowPart) -> SignInRules:
    """Return the rules of a realm whose pages have a flow of these steps."""
    flows: list[Flow] = []
    configs: dict[str, AuthenticatorConfig] = {}
    _add(flows, configs, "own", steps, top_level=True)
    made = sign_in_flow(Flows(flows, configs), flows[-1])
    return SignInRules(browser=made, flows={made.id: made})


def _add(
    flows: list[Flow],
    configs: dict[str, AuthenticatorConfig],
    alias: str,
    steps: Iterable[FlowPart],
    *,
    top_level: bool = False,
) -> None:
    executions = []
    for place, step in enumerate(steps):
        step_id = f"{alias}-{place}-{step.name}"
        if step.steps:
            _add(flows, configs, step.name, step.steps)
            found = Execution(step_id, step.requirement, place, flow=step.name)
        else:
            configs[step_id] = AuthenticatorConfig(step_id, None, step.config)
            found = Execution(step_id, step.requirement, place, step.name, config=step_id)
        executions.append(found)
    flow = Flow(alias, alias, FlowKind.BASIC, top_level=top_level)
    flows.append(flow.with_executions(executions))


class Browser:
    """A browser, and the gateways that answer its requests in turn."""

    def __init__(
        self, *gateways: Gateway, realm: Realm, sign_in: SignInRules | None = None
    ) -> None:
        self.gateways = gateways
        self.realm = realm
        self.rules = sign_in or rules_in(realm.id, realm.flows, {}, {}, {})
        self.session: UserSession | None = None
        self.user: User | None = None
        self.authenticated_at: datetime | None = None
        self.step: Step | None = None
        self.keys = PyJwtKeyFactory().ring(())
        self.id = ""
        """That of its sign-ins, as the cookie has it."""
        self._count = 0

    @property
    def gateway(self) -> Gateway:
        """Return the gateway whose turn it is."""
        self._count += 1
        return self.gateways[self._count % len(self.gateways)]

    @property
    def sign_in(self) -> SignInEngine:
        """Return the engine of the gateway whose turn it is."""
        return self.gateway.engine

    async def find(self, session_id: str, tab_id: str) -> AuthenticationSession | None:
        """Return the session of a tab; None where it has ended."""
        return await self.gateway.sign_ins.find_tab(self.realm.id, session_id, tab_id)

    def context(self, requested: RequestedAuthentication = ANYTHING) -> SignInContext:
        """Return a request of now."""
        now, browser = self.gateways[0].clock.now(), None
        if self.session is not None and self.user is not None:
            browser = BrowserSession(self.session, self.user, self.authenticated_at or now)
        entry = RealmEntry(self.realm, self.keys, sign_in=self.rules)
        own = client()
        return SignInContext(entry, own, ADDRESS, now, browser_session=browser, requested=requested)

    async def begin(
        self, requested: RequestedAuthentication = ANYTHING, session_id: str | None = None
    ) -> Step:
        """Open the authorization endpoint."""
        flow = self.rules.browser
        assert flow is not None
        self.requested = requested
        session = new_authentication_session(
            realm_id=self.realm.id,
            client="device-uuid",
            flow=flow.id,
            started_at=self.gateways[0].clock.now(),
            request={"state": "a state"},
            session_id=session_id,
        )
        step: Step = await self.sign_in.begin(self.context(requested), session)
        self.step, self.id = step, step.session.id
        return step

    @property
    def current(self) -> AuthenticationSession:
        assert self.step is not None
        found: AuthenticationSession = self.step.session
        return found

    async def submit(self, **form: str) -> Step:
        """Send the form of the page that is shown."""
        shown = self.current
        self.step = await self.resend(shown, **form)
        return self.step

    async def resend(self, shown: AuthenticationSession, **form: str) -> Step:
        """Send the form of a page that was shown once."""
        gateway = self.gateway
        stored = await gateway.sign_ins.find_tab(self.realm.id, self.id, shown.tab_id)
        assert stored is not None
        step: Step = await gateway.engine.submit(
            self.context(self.requested), stored, shown.execution, form, shown.session_code
        )
        self.id = step.session.id
        return step

    async def log_in(self, username: str = "alice", password: str | None = None) -> Step:
        """Fill in user name and password."""
        return await self.submit(username=username, password=password or PASSWORD.reveal())

    def remember(self, step: Step) -> None:
        """Take the session of a sign-in, as the browser does by its cookie."""
        assert isinstance(step, SignedIn)
        now = self.gateways[0].clock.now()
        self.user, notes = step.user, step.session_notes
        if step.joins is not None:
            self.session = replace(step.joins, notes={**step.joins.notes, **notes})
        else:
            values = (step.session.id, self.realm.id, step.user.id, step.user.username, ADDRESS)
            self.session = UserSession(*values, started_at=now, refreshed_at=now, notes=notes)
        if step.is_fresh:
            self.authenticated_at = now


def shown(step: Step) -> tuple[FormName, str | None]:
    """Return the form that a step shows, and its message."""
    assert isinstance(step, Challenged), step
    return step.challenge.form, step.challenge.message


def failure(step: Step) -> str | None:
    """Return the error of the event of a step."""
    assert isinstance(step, Challenged), step
    return None if step.failure is None else step.failure.event_error
