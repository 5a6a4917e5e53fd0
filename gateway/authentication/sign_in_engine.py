"""The engine with every authenticator and condition, and its sign-ins over several requests."""

from dataclasses import replace

from gateway.authentication.authenticators import Unavailable, authenticators
from gateway.authentication.conditions import conditions
from gateway.authentication.engine import (
    Challenged,
    Ended,
    PageExpired,
    Refused,
    Replayed,
    SignedIn,
    SignInContext,
    SignInEngine,
    Step,
)
from gateway.authentication.engine.flow_runner import FlowRunner
from gateway.authentication.engine.proofs import PermanentLockouts
from gateway.authentication.engine.required_action import PendingActions, RequiredActions
from gateway.authentication.engine.sign_in import Authenticator, Form
from gateway.authentication.required_actions import required_actions
from gateway.authentication.services import AuthenticationServices
from gateway.domain.authentication import AuthenticationSession, expires_at, new_browser_id
from gateway.domain.ports.sign_in import AuthenticationSessionStore


def sign_in_engine(services: AuthenticationServices) -> SignInEngine:
    """Return the engine with every authenticator, condition and required action."""
    database, accounts = services.database, services.accounts
    acting = {each.id: each for each in authenticators(services)}

    def find(name: str) -> Authenticator:
        return acting.get(name) or Unavailable(name)

    decide = {each.id: each for each in conditions(services, find)}
    pending = PendingActions(database, accounts)
    return SignInEngine(
        FlowRunner(acting, decide, Unavailable, accounts),
        accounts=accounts,
        guard=services.guard,
        lockouts=PermanentLockouts(database, services.invalidation),
        passwords=services.passwords,
        limiter=services.limiter,
        actions=RequiredActions(accounts, pending, required_actions(services)),
    )


class ResumableSignIn:
    """Runs the steps of sign-ins and stores what is left to do.

    A refused sign-in stays stored as it was before: the user may start over. Methods raise
    Overloaded, StoreUnavailable, and InvalidInput for a session that is too large.

    A step is claimed before it runs: of two requests with the same form, at any gateways, one runs
    the step, and the other one comes to Replayed. A gateway that dies in between leaves the form as
    it was: its page is shown again.

    The browser gets a new id with every credential that was right. Who has planted the id in the
    browser, or has seen it before, does not go on where the user has proven something (attacks:
    session fixation).
    """

    def __init__(self, engine: SignInEngine, sessions: AuthenticationSessionStore) -> None:
        self._engine = engine
        self._sessions = sessions

    async def find(
        self, realm_id: str, session_id: str, tab_id: str
    ) -> AuthenticationSession | None:
        """Return the session of a tab; None where it has ended."""
        return await self._sessions.find(realm_id, session_id, tab_id)

    async def begin(
        self, context: SignInContext, session: AuthenticationSession, *, stored: bool = True
    ) -> Step:
        """Begin a sign-in; `stored` False is for one that may not ask the user (`prompt=none`)."""
        step = await self._engine.begin(context, session)
        if stored and isinstance(step, Challenged):
            await self.keep(context, step.session)
        return step

    async def go_on(self, context: SignInContext, session: AuthenticationSession) -> Step:
        """Begin where the flow has succeeded, with a session that is not stored."""
        step = await self._engine.resume(context, session)
        if isinstance(step, Challenged):
            await self.keep(context, step.session)
        return step

    async def keep(self, context: SignInContext, session: AuthenticationSession) -> None:
        """Store a session that is not stored, such as one that waits for consent."""
        end = expires_at(context.realm.realm.token_lifespans, session, context.now)
        await self._sessions.add(session, end)

    async def submit(
        self,
        context: SignInContext,
        session: AuthenticationSession,
        execution: str | None,
        form: Form,
        session_code: str | None,
    ) -> Step:
        """Take the form of an execution of a stored session.

        A form that is not that of the current step comes to PageExpired or Replayed.
        """
        misplaced = self._engine.misplaced(session, execution, session_code)
        if misplaced is not None:
            return misplaced
        claimed = session.next_step()
        if not await self._replace(context, session, claimed):
            return Replayed(session)
        step = await self._engine.submit(context, claimed, execution, form, claimed.session_code)
        return await self._stored(context, claimed, _under_new_id(claimed, step))

    async def show(
        self, context: SignInContext, session: AuthenticationSession, execution: str | None = None
    ) -> Step:
        """Show the current page of a stored session again, with a new code."""
        return await self._stored(
            context, session, await self._engine.show(context, session, execution)
        )

    async def restart(self, context: SignInContext, session: AuthenticationSession) -> Step:
        """Start a stored session over."""
        return await self._stored(context, session, await self._engine.restart(context, session))

    async def resume(self, context: SignInContext, session: AuthenticationSession) -> Step:
        """Finish a stored session whose flow has succeeded, after consent.

        The session is claimed: of two requests one comes to SignedIn.
        """
        claimed = session.next_step()
        if not await self._replace(context, session, claimed):
            return Replayed(session)
        return await self._stored(context, claimed, await self._engine.resume(context, claimed))

    async def end(self, session: AuthenticationSession) -> None:
        """Remove the session of a tab."""
        await self._sessions.remove(session.realm_id, session.id, session.tab_id)

    async def _stored(
        self, context: SignInContext, before: AuthenticationSession, step: Step
    ) -> Step:
        """Store what the step has changed; Replayed where another request was faster.

        What the step has changed in the account stays changed, and is reported.
        """
        if isinstance(step, Refused | Ended | PageExpired | Replayed):
            return step
        if await self._replace(context, before, step.session):
            return step
        return Replayed(before, step.account_changes)

    async def _replace(
        self, context: SignInContext, before: AuthenticationSession, after: AuthenticationSession
    ) -> bool:
        end = expires_at(context.realm.realm.token_lifespans, after, context.now)
        return await self._sessions.replace(before, after, end)


def _under_new_id(before: AuthenticationSession, step: Step) -> Step:
    """Return the step with another id of the browser where a credential was used in it."""
    if isinstance(step, Challenged | SignedIn) and step.session.used - before.used:
        return replace(step, session=replace(step.session, id=new_browser_id()))
    return step
