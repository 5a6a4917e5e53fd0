"""The sign-in engine: one step of a sign-in at a time, for pages and for the password grant.

A sign-in succeeds where its flow does, something has proven the user, the account is enabled, the
required level of authentication is reached, and no required action is left to do.
Keycloak: AuthenticationProcessor (26.7)
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.brute_force_protection import BruteForceGuard
from gateway.authentication.engine.flow_runner import FlowRunner, Progress
from gateway.authentication.engine.levels import (
    FLOW_LEVELS_NOTE,
    LEVELS_NOTE,
    LOWEST_LEVEL,
    reach_flow_level,
)
from gateway.authentication.engine.proofs import (
    GuardedChecks,
    PermanentLockouts,
    has_password,
    is_former,
    is_proven_too_early,
    keep_address,
)
from gateway.authentication.engine.required_action import ACTION_STATUS, RequiredActions
from gateway.authentication.engine.results import (
    Challenged,
    Ended,
    PageExpired,
    Refused,
    Replayed,
    SignedIn,
    Step,
)
from gateway.authentication.engine.sign_in import (
    BROWSER_SESSION,
    UNKNOWN_USER,
    Form,
    SignIn,
    SignInContext,
)
from gateway.authentication.errors import (
    AccountDisabled,
    InvalidUserCredentials,
    LevelNotReached,
    SignInRefused,
)
from gateway.authentication.passwords import PasswordCheck
from gateway.domain.authentication import (
    LOCALE,
    AuthenticationSession,
    Challenge,
    FormName,
    MessageKey,
    Stage,
)
from gateway.domain.events import EventError
from gateway.domain.flows import SignInFlow
from gateway.domain.limits.rate_limits import RateLimiter, caller_of

TRY_ANOTHER_WAY: Final = "tryAnotherWay"
"""The field of a form that asks for the list of executions."""
OTHER_WAY: Final = "authenticationExecution"
"""The field of a form that selects an execution."""
_SELECTING: Final = "authentication-selector"
"""The note of a session whose page is the list of executions."""
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
        actions: RequiredActions,
        limiter: RateLimiter,
    ) -> None:
        self._runner = runner
        self._accounts = accounts
        self._guard = guard
        self._lockouts = lockouts
        self._passwords = passwords
        self._actions = actions
        self._limiter = limiter

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
        if session.waits_for is None or execution != session.waits_for:
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
        """Take the form of an execution or required action: the one that waits for the user.

        A form of another step comes to PageExpired, one that was sent before to Replayed.
        """
        misplaced = self.misplaced(session, execution, session_code)
        if misplaced is not None:
            return misplaced
        if session.required_action is not None:
            return await self._perform(context, session, form)
        session = session.with_note(_SELECTING, None)
        if TRY_ANOTHER_WAY in form:
            session = session.with_note(_SELECTING, "true")
            return await self._at(context, session, execution, None)
        chosen = form.get(OTHER_WAY)
        if chosen:
            return await self._take_way(context, session, chosen)
        return await self._at(context, session, execution, form)

    async def show(
        self, context: SignInContext, session: AuthenticationSession, execution: str | None = None
    ) -> Step:
        """Show the form again that waits for the user; PageExpired for that of another step."""
        waits = session.waits_for
        if waits is not None and execution not in {None, waits}:
            return PageExpired(session)
        if session.stage is Stage.AUTHENTICATED:
            return await self.resume(context, session)
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

    async def _perform(
        self, context: SignInContext, session: AuthenticationSession, form: Form
    ) -> Step:
        """Take the form of the required action; the next one, or the end, follows."""
        if _has_lost_session(context, session):
            return PageExpired(session)

        async def work(sign_in: SignIn, checks: GuardedChecks) -> Progress:
            del checks
            sign_in.challenge = await self._actions.submit(sign_in, form)
            if sign_in.challenge is not None:
                return Progress.WAITING
            if sign_in.ended_with is None:
                sign_in.account = await self._account(context, session)
                keep_address(sign_in)
            return Progress.SUCCEEDED

        return await self._step(context, session, work)

    async def _take_way(
        self, context: SignInContext, session: AuthenticationSession, chosen: str
    ) -> Step:
        """Show the form of the execution that the user has chosen."""
        shown = await self.show(context, session)
        if not isinstance(shown, Challenged) or chosen == shown.execution:
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
                if is_proven_too_early(sign_in) or await self._has_former_password(sign_in):
                    return await self._again(context, session)
                step = await self._outcome(sign_in, checks, await work(sign_in, checks))
            except SignInRefused as refusal:
                return Refused(sign_in.next_session(), refusal, sign_in.account_changes)
        if sign_in.proven_password is not None:
            await self._passwords.strengthen(sign_in.realm, *sign_in.proven_password)
        return step

    async def _has_former_password(self, sign_in: SignIn) -> bool:
        """Tell whether the proof of an earlier request is not one of the user any more."""
        if sign_in.account is None or not has_password(sign_in.begun):
            return False
        sign_in.account = await self._accounts.with_credentials(sign_in.account)
        return is_former(sign_in.begun, sign_in.account)

    async def _again(self, context: SignInContext, session: AuthenticationSession) -> Step:
        """Ask for the credentials again, and say so."""
        step = await self.restart(context, session)
        if not isinstance(step, Challenged) or step.challenge.message is not None:
            return step
        return replace(step, challenge=replace(step.challenge, message=MessageKey.REAUTHENTICATE))

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
            name = session.attempted_username or ""
            return await self._accounts.unknown(context.realm.realm.id, name)
        return None

    async def _outcome(self, sign_in: SignIn, checks: GuardedChecks, progress: Progress) -> Step:
        if sign_in.ended_with is not None:
            locale, changes = sign_in.user.locale, sign_in.account_changes
            return Ended(sign_in.next_session(), sign_in.ended_with, locale, changes)
        if progress is Progress.WAITING and sign_in.challenge is not None:
            return await self._challenged(sign_in, sign_in.challenge)
        if progress is not Progress.SUCCEEDED:
            if sign_in.failure is not None:  # that of the last alternative, which nothing follows
                raise sign_in.failure
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
            failed = sign_in.failure is not None
            challenge = replace(challenge, message=sign_in.information, is_error=failed)
        if _SELECTING in sign_in.notes:
            challenge = _selection(sign_in, challenge)
        return _challenge(sign_in, challenge)

    async def _after_lockout(
        self, sign_in: SignIn, challenge: Challenge, failure: InvalidUserCredentials
    ) -> Step:
        step = await self.restart(sign_in.context, sign_in.begun)
        if not isinstance(step, Challenged):
            return Refused(step.session, failure)
        said = replace(step.challenge, message=challenge.message, is_error=True)
        return Challenged(step.session, said, failure, event_details=sign_in.event_details)

    async def _completed(self, sign_in: SignIn, checks: GuardedChecks) -> Step:
        user = sign_in.user
        if not sign_in.used and not sign_in.has_joined:
            raise InvalidUserCredentials(EventError.INVALID_USER_CREDENTIALS, user.id)
        if not user.enabled:
            raise AccountDisabled(user.id)
        reach_flow_level(sign_in)
        _require_level(sign_in)
        sign_in.stage, sign_in.execution = Stage.AUTHENTICATED, None
        challenge = await self._actions.ask(sign_in)
        await checks.succeeded()
        if challenge is not None:
            return _challenge(sign_in, challenge)
        browser = sign_in.context.browser_session
        joins = browser.session if browser and browser.session.user_id == user.id else None
        session = sign_in.next_session()
        if session.used and sign_in.realm.login.reset_password_allowed:
            # What a stranger asks for in the user's name does not count for this network.
            network = caller_of(sign_in.context.address)
            await self._limiter.remember_network(user.realm_id, user.id, network)
        return SignedIn(
            session,
            user,
            level=session.level,
            used=session.used,
            joins=joins,
            is_fresh=bool(session.used),
            session_notes=_session_notes(session),
            action_status=sign_in.notes.get(ACTION_STATUS),
            account_changes=sign_in.account_changes,
            event_details={**sign_in.kept_details, **sign_in.event_details},
        )


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
        notes={name: text for name, text in session.notes.items() if name == LOCALE},
    )


def _challenge(sign_in: SignIn, challenge: Challenge) -> Challenged:
    session = sign_in.next_session()
    return Challenged(
        session, challenge, sign_in.failure, sign_in.account_changes, sign_in.event_details
    )


def _selection(sign_in: SignIn, challenge: Challenge) -> Challenge:
    """Return the list of executions in place of a form that is one of several ways."""
    if not challenge.other_ways:
        sign_in.note(_SELECTING, None)
        return challenge
    left = sign_in.flow.path(sign_in.execution)[-1]
    ways = ((left.id, left.authenticator), *challenge.other_ways)
    return Challenge(FormName.SELECT_AUTHENTICATOR, challenge.fields, other_ways=ways)


def _session_notes(session: AuthenticationSession) -> dict[str, str]:
    """Return the levels that were reached, which later sign-ins of the browser count."""
    names = (LEVELS_NOTE, FLOW_LEVELS_NOTE)
    return {name: session.notes[name] for name in names if name in session.notes}


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
