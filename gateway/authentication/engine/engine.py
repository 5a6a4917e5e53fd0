"""The sign-in engine: one step of a sign-in at a time, for pages and for the password grant.

A sign-in succeeds where its flow does, something has proven the user, the account is enabled, the
required level of authentication is reached, and no required action is left to do.
Keycloak: AuthenticationProcessor (26.7)
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from gateway.authentication.accounts import Account, Accounts, unknown_account
from gateway.authentication.brute_force_guard import BruteForceGuard
from gateway.authentication.engine.context import SignInContext
from gateway.authentication.engine.flow_runner import FlowRunner, Progress
from gateway.authentication.engine.guarded_checks import GuardedChecks, PermanentLockouts
from gateway.authentication.engine.levels import LEVELS_NOTE, LOWEST_LEVEL
from gateway.authentication.engine.sign_in import BROWSER_SESSION, UNKNOWN_USER, Form, SignIn
from gateway.authentication.engine.steps import (
    Challenged,
    PageExpired,
    Refused,
    Replayed,
    SignedIn,
    Step,
)
from gateway.authentication.errors import (
    AccountDisabled,
    AccountNotSetUp,
    InvalidUserCredentials,
    LevelNotReached,
    SignInRefused,
)
from gateway.authentication.password_check import PasswordCheck
from gateway.authentication.required_actions import PendingActions
from gateway.domain.authentication import (
    AuthenticationSession,
    Challenge,
    ExecutionStatus,
    Stage,
)
from gateway.domain.events import EventError
from gateway.domain.flows import KIND_OF, SignInFlow

OTHER_WAY: Final = "authenticationExecution"
"""The field of a form that selects another execution."""
Work = Callable[[SignIn, GuardedChecks], Awaitable[Progress]]


class SignInEngine:
    """Runs sign-ins. It keeps no state: an authentication session goes in and comes out."""

    def __init__(
        self,
        runner: FlowRunner,
        *,
        accounts: Accounts,
        guard: BruteForceGuard,
        lockouts: PermanentLockouts,
        passwords: PasswordCheck,
        actions: PendingActions,
    ) -> None:
        self._runner = runner
        self._accounts = accounts
        self._guard = guard
        self._lockouts = lockouts
        self._passwords = passwords
        self._actions = actions

    async def begin(self, context: SignInContext, session: AuthenticationSession) -> Step:
        """Run the flow of a new session.

        Raises Overloaded or StoreUnavailable, as all methods do.
        """
        return await self._step(context, session, self._runner.run)

    @staticmethod
    def misplaced(
        session: AuthenticationSession, execution: str | None, session_code: str | None
    ) -> PageExpired | Replayed | None:
        """Return what a form comes to that is not that of the current step."""
        if session.execution is None or execution != session.execution:
            return PageExpired(session)
        return None if session.is_current(session_code) else Replayed(session)

    async def submit(
        self,
        context: SignInContext,
        session: AuthenticationSession,
        execution: str | None,
        form: Form,
        session_code: str | None,
    ) -> Step:
        """Take the form of an execution, which must be the one that waits for the user.

        A form of another step comes to PageExpired, one that was sent before to Replayed.
        """
        misplaced = self.misplaced(session, execution, session_code)
        if misplaced is not None:
            return misplaced
        chosen = form.get(OTHER_WAY)
        if chosen and chosen != execution:
            return await self._take_other_way(context, session, chosen)
        return await self._at(context, session, execution, form)

    async def show(
        self, context: SignInContext, session: AuthenticationSession, execution: str | None = None
    ) -> Step:
        """Show the form again that waits for the user; PageExpired for that of another step."""
        if session.stage is Stage.AUTHENTICATED:
            return await self.resume(context, session)
        if execution is not None and execution != session.execution:
            return PageExpired(session)
        return await self._at(context, session, session.execution, None)

    async def restart(self, context: SignInContext, session: AuthenticationSession) -> Step:
        """Forget what was done so far, and run the flow from its beginning."""
        return await self.begin(context, _from_the_beginning(session))

    async def resume(self, context: SignInContext, session: AuthenticationSession) -> Step:
        """Finish a sign-in whose flow has succeeded: after a required action, or consent.

        Where the browser's session that the sign-in began with has ended, it comes to PageExpired.
        """
        if _has_lost_session(context, session):
            return PageExpired(session)
        return await self._step(context, session, _succeeded)

    async def _take_other_way(
        self, context: SignInContext, session: AuthenticationSession, chosen: str
    ) -> Step:
        shown = await self.show(context, session)
        if not isinstance(shown, Challenged):
            return shown
        if chosen not in {way for way, _ in shown.challenge.other_ways}:
            return PageExpired(session)
        return await self._at(context, shown.session, chosen, None)

    async def _at(
        self,
        context: SignInContext,
        session: AuthenticationSession,
        execution: str | None,
        form: Form | None,
    ) -> Step:
        """Go on at an execution, with its form or by showing it."""
        flow = _flow(context, session)
        path = () if flow is None else flow.path(execution)
        if not path or _has_lost_session(context, session):  # the flow was changed meanwhile
            return await self.restart(context, session)

        async def work(sign_in: SignIn, checks: GuardedChecks) -> Progress:
            if form is None:
                return await self._runner.show(sign_in, checks, path)
            return await self._runner.submit(sign_in, checks, path, form)

        return await self._step(context, session, work)

    async def _step(
        self, context: SignInContext, session: AuthenticationSession, work: Work
    ) -> Step:
        flow = _flow(context, session)
        if flow is None:
            return Refused(session, InvalidUserCredentials(EventError.NOT_ALLOWED))
        sign_in = SignIn(context, session, flow)
        async with GuardedChecks(self._guard, self._lockouts) as checks:
            try:
                sign_in.account = await self._account(context, session)
                step = await self._outcome(sign_in, checks, await work(sign_in, checks))
            except SignInRefused as refusal:
                return Refused(sign_in.next_session(), refusal)
        if sign_in.proven_password is not None:
            await self._passwords.strengthen(sign_in.realm, *sign_in.proven_password)
        return step

    async def _account(
        self, context: SignInContext, session: AuthenticationSession
    ) -> Account | None:
        """Return the account that was identified before; raises for one that was removed."""
        if session.user_id is not None:
            found = await self._accounts.with_id(context.realm.realm.id, session.user_id)
            if found is None:
                raise InvalidUserCredentials(EventError.USER_NOT_FOUND)
            return found
        if session.notes.get(UNKNOWN_USER):
            return unknown_account(session.attempted_username or "")
        return None

    async def _outcome(self, sign_in: SignIn, checks: GuardedChecks, progress: Progress) -> Step:
        if progress is Progress.WAITING and sign_in.challenge is not None:
            return await self._challenged(sign_in, sign_in.challenge)
        if progress is not Progress.SUCCEEDED:
            user = sign_in.found_user
            error = EventError.INVALID_USER_CREDENTIALS
            raise InvalidUserCredentials(error, None if user is None else user.id)
        return await self._completed(sign_in, checks)

    async def _challenged(self, sign_in: SignIn, challenge: Challenge) -> Step:
        failure = sign_in.failure
        if sign_in.used and isinstance(failure, InvalidUserCredentials) and _is_locked(failure):
            # What was proven before the lock-out does not count after it (attacks: D8).
            return await self._after_lockout(sign_in, challenge, failure)
        if challenge.message is None and sign_in.information is not None:
            challenge = replace(challenge, message=sign_in.information)
        return Challenged(sign_in.next_session(), challenge, failure)

    async def _after_lockout(
        self, sign_in: SignIn, challenge: Challenge, failure: InvalidUserCredentials
    ) -> Step:
        step = await self.restart(sign_in.context, sign_in.begun)
        if not isinstance(step, Challenged):
            return Refused(step.session, failure)
        said = replace(step.challenge, message=challenge.message, is_error=True)
        return Challenged(step.session, said, failure)

    async def _completed(self, sign_in: SignIn, checks: GuardedChecks) -> Step:
        user = sign_in.user
        if not sign_in.used and not sign_in.has_joined:
            raise InvalidUserCredentials(EventError.INVALID_USER_CREDENTIALS, user.id)
        if not user.enabled:
            raise AccountDisabled(user.id)
        _require_level(sign_in)
        await self._require_set_up(sign_in)
        await checks.succeeded()
        browser = sign_in.context.browser_session
        joins = browser.session if browser and browser.session.user_id == user.id else None
        levels = sign_in.notes.get(LEVELS_NOTE)
        sign_in.stage, sign_in.execution = Stage.AUTHENTICATED, None
        session = sign_in.next_session()
        return SignedIn(
            session,
            user,
            level=session.level,
            used=session.used,
            joins=joins,
            is_fresh=bool(session.used),
            session_notes={} if levels is None else {LEVELS_NOTE: levels},
        )

    async def _require_set_up(self, sign_in: SignIn) -> None:
        """Raise AccountNotSetUp where a required action is left to do: no page performs one yet."""
        if ExecutionStatus.SETUP_REQUIRED in sign_in.statuses.values():
            raise AccountNotSetUp(_set_up_later(sign_in))
        if sign_in.account is None:
            return
        action = await self._actions.next_of(sign_in.context.realm, sign_in.account, sign_in.now)
        if action is not None:
            raise AccountNotSetUp(action)


async def _succeeded(sign_in: SignIn, checks: GuardedChecks) -> Progress:
    del checks
    done = sign_in.stage is Stage.AUTHENTICATED
    return Progress.SUCCEEDED if done else Progress.FAILED


def _flow(context: SignInContext, session: AuthenticationSession) -> SignInFlow | None:
    return context.realm.sign_in.find(session.flow)


def _has_lost_session(context: SignInContext, session: AuthenticationSession) -> bool:
    """Tell whether the browser's session, which the sign-in relies on, has ended or is another.

    What that session has proven must not outlive it: its user signed out, or was signed out.
    """
    relied_on, browser = session.notes.get(BROWSER_SESSION), context.browser_session
    return relied_on is not None and (browser is None or browser.session.id != relied_on)


def _from_the_beginning(session: AuthenticationSession) -> AuthenticationSession:
    return replace(
        session,
        stage=Stage.FLOW,
        execution=None,
        statuses={},
        user_id=None,
        attempted_username=None,
        remember_me=False,
        level=None,
        used=frozenset(),
        required_action=None,
        notes={},
    )


def _set_up_later(sign_in: SignIn) -> str | None:
    """Return the required action that sets up what the user lacks."""
    for step in sign_in.flow.every_step():
        if sign_in.status(step) is ExecutionStatus.SETUP_REQUIRED:
            return KIND_OF[step.authenticator].required_action
    return None


def _is_locked(failure: InvalidUserCredentials) -> bool:
    locked = {EventError.USER_TEMPORARILY_DISABLED, EventError.USER_DISABLED}
    return failure.lockout is not None or failure.event_error in locked


def _require_level(sign_in: SignIn) -> None:
    """Raise LevelNotReached; without levels in the flow, credentials reach the lowest but one."""
    requested = sign_in.context.requested
    if not requested.level_is_essential or requested.level is None:
        return
    reached = sign_in.level
    if reached is None:
        reached = LOWEST_LEVEL + 1 if sign_in.used else LOWEST_LEVEL
    if reached < requested.level:
        raise LevelNotReached(sign_in.user.id)
