"""The sign-in engine: one step of a sign-in at a time, for pages and for the password grant.

A sign-in succeeds where its flow does, something has proven the user, the account is enabled, the
required level of authentication is reached, and no required action is left to do.
Keycloak: AuthenticationProcessor (26.7)
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final

from gateway.authentication.accounts import Account
from gateway.authentication.authenticators import authenticators
from gateway.authentication.conditions import conditions
from gateway.authentication.engine import (
    Challenged,
    Inform,
    PageExpired,
    Refused,
    Replayed,
    SignedIn,
    SignInContext,
    SignInResult,
)
from gateway.authentication.engine.flow_runner import FlowRun, FlowSteps, Progress
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
from gateway.authentication.engine.required_action import (
    ACTION_STATUS,
    ExpiredPasswords,
    RequiredActions,
)
from gateway.authentication.engine.sign_in import (
    BROWSER_SESSION,
    UNKNOWN_USER,
    Form,
    SignInAttempt,
)
from gateway.authentication.errors import (
    AccountDisabled,
    InvalidUserCredentials,
    LevelNotReached,
    SignInRefused,
)
from gateway.authentication.required_actions import required_actions
from gateway.authentication.services import AuthenticationServices
from gateway.domain.authentication import (
    LOCALE,
    AuthenticationSession,
    Challenge,
    FormName,
    MessageKey,
    Stage,
    expires_at,
    new_browser_id,
)
from gateway.domain.events import EventError
from gateway.domain.limits.rate_limits import caller_of

TRY_ANOTHER_WAY: Final = "tryAnotherWay"
"""The field of a form that asks for the list of executions."""
OTHER_WAY: Final = "authenticationExecution"
"""The field of a form that selects an execution."""
_SELECTING: Final = "authentication-selector"
"""The note of a session whose page is the list of executions."""
_Work = Callable[[FlowRun], Awaitable[Progress]]


class SignInEngine:
    """Runs the steps of sign-ins and stores their sessions.

    A refused sign-in stays stored as it was before: the user may start over. Methods raise
    Overloaded, StoreUnavailable, and InvalidInput for a session that is too large.

    A form is claimed before its step runs: of two requests with the same form, at any gateways, one
    runs the step, and the other one yields Replayed. A gateway that dies in between leaves the form
    as it was: its page is shown again.

    The browser gets a new id with every credential that was right. An attacker who has planted the
    id in the browser, or has seen it before, does not go on where the user has proven something
    (attacks: session fixation).
    """

    def __init__(self, services: AuthenticationServices) -> None:
        self._services = services
        acting = authenticators(services)
        self._steps = FlowSteps(acting, conditions(services, acting), services.accounts)
        self._lockouts = PermanentLockouts(services.database, services.invalidation)
        expired = ExpiredPasswords(services.database, services.accounts)
        self._actions = RequiredActions(services.accounts, expired, required_actions(services))

    async def begin(
        self, context: SignInContext, session: AuthenticationSession, *, stored: bool = True
    ) -> SignInResult:
        """Begin a sign-in: run its flow, or go on where a link has done the work of the flow.

        `stored` False is for a sign-in that may not ask the user (`prompt=none`), or of one
        request.
        """
        step = await self._begin(context, session)
        if stored and isinstance(step, Challenged):
            await self.store(context, step.session)
        return step

    async def resume(
        self, context: SignInContext, session: AuthenticationSession, execution: str | None = None
    ) -> SignInResult:
        """Show the current page of a stored session again, with a new code.

        Yields PageExpired where `execution` is that of another step.
        """
        return await self._stored(context, session, await self._show(context, session, execution))

    async def submit(
        self,
        context: SignInContext,
        session: AuthenticationSession,
        execution: str | None,
        form: Form,
        session_code: str | None,
    ) -> SignInResult:
        """Take the form of the execution or required action that waits for the user.

        A form of another step yields PageExpired; a form that is sent twice yields Replayed.
        """
        if session.waits_for is None or execution != session.waits_for:
            return PageExpired(session, context.client)
        if not session.is_current(session_code):
            return Replayed(session, context.client)
        claimed = session.next_step()
        if not await self._replace(context, session, claimed):
            return Replayed(session, context.client)
        if session.required_action is not None:
            step = await self._perform(context, claimed, form)
        else:
            step = await self._execute(context, claimed, form)
        if isinstance(step, Challenged | SignedIn) and step.session.used - claimed.used:
            step = replace(step, session=replace(step.session, id=new_browser_id()))
        return await self._stored(context, claimed, step)

    async def restart(self, context: SignInContext, session: AuthenticationSession) -> SignInResult:
        """Clear the progress of a stored session, and run the flow from its beginning."""
        return await self._stored(context, session, await self._restart(context, session))

    async def finish(self, context: SignInContext, session: AuthenticationSession) -> SignInResult:
        """Finish a stored session whose flow has succeeded, after consent.

        The session is claimed: of two requests one yields SignedIn. Yields PageExpired where the
        browser's session that the sign-in began with has ended.
        """
        claimed = session.next_step()
        if not await self._replace(context, session, claimed):
            return Replayed(session, context.client)
        return await self._stored(context, claimed, await self._finish(context, claimed))

    async def store(self, context: SignInContext, session: AuthenticationSession) -> None:
        """Store a new session, such as that of a sign-in that waits for consent."""
        end = expires_at(context.realm.realm.token_lifespans, session, context.now)
        await self._services.authentication_sessions.add(session, end)

    async def end(self, session: AuthenticationSession) -> None:
        """Remove the session of a tab."""
        sessions = self._services.authentication_sessions
        await sessions.remove_tab(session.realm_id, session.id, session.tab_id)

    async def _stored(
        self, context: SignInContext, before: AuthenticationSession, step: SignInResult
    ) -> SignInResult:
        """Store the session after a step; Replayed where another request was faster.

        What the step has changed in the account stays changed, and is reported.
        """
        if not isinstance(step, Challenged | SignedIn):
            return step
        if await self._replace(context, before, step.session):
            return step
        return Replayed(before, context.client, step.account_changes)

    async def _replace(
        self, context: SignInContext, before: AuthenticationSession, after: AuthenticationSession
    ) -> bool:
        end = expires_at(context.realm.realm.token_lifespans, after, context.now)
        return await self._services.authentication_sessions.replace(before, after, end)

    async def _begin(self, context: SignInContext, session: AuthenticationSession) -> SignInResult:
        if session.stage is Stage.AUTHENTICATED:
            return await self._finish(context, session)
        return await self._step(context, session, FlowRun.run)

    async def _restart(
        self, context: SignInContext, session: AuthenticationSession
    ) -> SignInResult:
        return await self._begin(context, _from_the_beginning(session))

    async def _finish(self, context: SignInContext, session: AuthenticationSession) -> SignInResult:
        if _has_lost_session(context, session):
            return PageExpired(session, context.client)
        return await self._step(context, session, _succeeded)

    async def _show(
        self, context: SignInContext, session: AuthenticationSession, execution: str | None = None
    ) -> SignInResult:
        waits = session.waits_for
        if waits is not None and execution not in {None, waits}:
            return PageExpired(session, context.client)
        if session.stage is Stage.AUTHENTICATED:
            return await self._finish(context, session)
        return await self._at(context, session, session.execution, None)

    async def _execute(
        self, context: SignInContext, session: AuthenticationSession, form: Form
    ) -> SignInResult:
        """Take the form of the execution, or the choice of another one."""
        execution = session.execution
        if _SELECTING in session.notes:
            session = session.with_note(_SELECTING, None)
        if TRY_ANOTHER_WAY in form:
            session = session.with_note(_SELECTING, "true")
            return await self._at(context, session, execution, None)
        chosen = form.get(OTHER_WAY)
        if chosen:
            return await self._take_way(context, session, chosen)
        return await self._at(context, session, execution, form)

    async def _perform(
        self, context: SignInContext, session: AuthenticationSession, form: Form
    ) -> SignInResult:
        """Take the form of the required action; the next one, or the end, follows."""
        if _has_lost_session(context, session):
            return PageExpired(session, context.client)

        async def perform(flow: FlowRun) -> Progress:
            sign_in = flow.sign_in
            sign_in.challenge = await self._actions.submit(sign_in, form)
            if sign_in.challenge is not None:
                return Progress.WAITING
            if sign_in.ended_with is None:
                sign_in.account = await self._account(context, session)
                keep_address(sign_in)
            return Progress.SUCCEEDED

        return await self._step(context, session, perform)

    async def _take_way(
        self, context: SignInContext, session: AuthenticationSession, chosen: str
    ) -> SignInResult:
        """Show the form of the execution that the user has chosen."""
        shown = await self._show(context, session)
        if not isinstance(shown, Challenged) or chosen == shown.execution:
            return shown
        if chosen not in {way for way, _ in shown.challenge.other_ways}:
            return PageExpired(session, context.client)
        return await self._at(context, shown.session, chosen, None)

    async def _at(
        self,
        context: SignInContext,
        session: AuthenticationSession,
        execution: str | None,
        form: Form | None,
    ) -> SignInResult:
        """Go on at an execution, with its form or by showing it."""
        found = context.realm.sign_in.find_flow(session.flow)
        path = () if found is None else found.path(execution)
        if not path or _has_lost_session(context, session):  # the flow was changed meanwhile
            return await self._restart(context, session)
        show, submit = partial(FlowRun.show, path=path), partial(FlowRun.submit, path=path)
        work = show if form is None else partial(submit, form=form)
        return await self._step(context, session, work)

    async def _step(
        self, context: SignInContext, session: AuthenticationSession, work: _Work
    ) -> SignInResult:
        flow = context.realm.sign_in.find_flow(session.flow)
        if flow is None:
            error = InvalidUserCredentials(EventError.NOT_ALLOWED)
            return Refused(error, context.client, session)
        sign_in = SignInAttempt(context, session, flow)
        async with GuardedChecks(self._services.guard, self._lockouts) as checks:
            try:
                if session.user_id is not None or UNKNOWN_USER in session.notes:
                    sign_in.account = await self._account(context, session)
                if sign_in.account is not None and await self._lacks_proof(
                    sign_in, sign_in.account
                ):
                    return await self._again(context, session)
                progress = await work(FlowRun(sign_in, self._steps, checks))
                step = await self._result(sign_in, checks, progress)
            except SignInRefused as refusal:
                after = sign_in.next_session()
                return Refused(refusal, context.client, after, sign_in.account_changes)
        if sign_in.proven_password is not None:
            await self._services.passwords.strengthen(sign_in.realm, *sign_in.proven_password)
        return step

    async def _lacks_proof(self, sign_in: SignInAttempt, account: Account) -> bool:
        """Tell whether the proof of an earlier request is not one of the user any more."""
        if is_proven_too_early(sign_in):
            return True
        if not has_password(sign_in.begun):
            return False
        sign_in.account = await self._services.accounts.load_credentials(account)
        return is_former(sign_in.begun, sign_in.account)

    async def _again(self, context: SignInContext, session: AuthenticationSession) -> SignInResult:
        """Ask for the credentials again, and say so."""
        step = await self._restart(context, session)
        if not isinstance(step, Challenged) or step.challenge.message is not None:
            return step
        return replace(step, challenge=replace(step.challenge, message=MessageKey.REAUTHENTICATE))

    async def _account(
        self, context: SignInContext, session: AuthenticationSession
    ) -> Account | None:
        """Return the account that was identified before; raises for a removed account."""
        accounts, realm_id = self._services.accounts, context.realm.realm.id
        if session.user_id is not None:
            found = await accounts.find_account(realm_id, session.user_id)
            if found is None:
                raise InvalidUserCredentials(EventError.USER_NOT_FOUND)
            return found
        if session.notes.get(UNKNOWN_USER):
            return await accounts.get_unknown_account(realm_id, session.attempted_username or "")
        return None

    async def _result(
        self, sign_in: SignInAttempt, checks: GuardedChecks, progress: Progress
    ) -> SignInResult:
        if sign_in.ended_with is not None:
            return Inform(
                sign_in.ended_with,
                sign_in.client,
                locale=sign_in.user.locale,
                signs_out=True,
                session=sign_in.next_session(),
                account_changes=sign_in.account_changes,
            )
        if progress is Progress.WAITING and sign_in.challenge is not None:
            return await self._challenged(sign_in, sign_in.challenge)
        if progress is not Progress.SUCCEEDED:
            if sign_in.failure is not None:  # that of the last alternative, which nothing follows
                raise sign_in.failure
            user = sign_in.found_user
            error = EventError.INVALID_USER_CREDENTIALS
            raise InvalidUserCredentials(error, None if user is None else user.id)
        return await self._completed(sign_in, checks)

    async def _challenged(self, sign_in: SignInAttempt, challenge: Challenge) -> SignInResult:
        failure = sign_in.failure
        if sign_in.used and isinstance(failure, InvalidUserCredentials) and _is_locked(failure):
            # Proofs from before the lock-out do not count after it (attacks: D8).
            return await self._after_lockout(sign_in, challenge, failure)
        if challenge.message is None and sign_in.information is not None:
            failed = sign_in.failure is not None
            challenge = replace(challenge, message=sign_in.information, is_error=failed)
        if _SELECTING in sign_in.notes:
            challenge = _selection(sign_in, challenge)
        return _challenge(sign_in, challenge)

    async def _after_lockout(
        self, sign_in: SignInAttempt, challenge: Challenge, failure: InvalidUserCredentials
    ) -> SignInResult:
        client = sign_in.client
        step = await self._restart(sign_in.context, sign_in.begun)
        if not isinstance(step, Challenged):
            return Refused(failure, client, step.session)
        said = replace(step.challenge, message=challenge.message, is_error=True)
        return Challenged(step.session, said, client, failure, event_details=sign_in.event_details)

    async def _completed(self, sign_in: SignInAttempt, checks: GuardedChecks) -> SignInResult:
        user = sign_in.user
        if not sign_in.used and not sign_in.has_joined:
            raise InvalidUserCredentials(EventError.INVALID_USER_CREDENTIALS, user.id)
        if not user.enabled:
            raise AccountDisabled(user.id)
        if sign_in.context.requested.flow_level is not None:
            reach_flow_level(sign_in, sign_in.context.requested.flow_level)
        if sign_in.context.requested.level_is_essential:
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
            # Requests of strangers in the user's name do not count for this network.
            network = caller_of(sign_in.context.address)
            await self._services.limiter.remember_network(user.realm_id, user.id, network)
        return SignedIn(
            session,
            user,
            level=session.level,
            used=session.used,
            joins=joins,
            is_fresh=bool(session.used),
            session_notes={
                # The levels that were reached, which later sign-ins of the browser count.
                name: session.notes[name]
                for name in (LEVELS_NOTE, FLOW_LEVELS_NOTE)
                if name in session.notes
            },
            action_status=sign_in.notes.get(ACTION_STATUS),
            account_changes=sign_in.account_changes,
            event_details={**sign_in.kept_details, **sign_in.event_details},
        )


async def _succeeded(flow: FlowRun) -> Progress:
    done = flow.sign_in.stage is Stage.AUTHENTICATED
    return Progress.SUCCEEDED if done else Progress.FAILED


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


def _challenge(sign_in: SignInAttempt, challenge: Challenge) -> Challenged:
    # A language would reveal that there is such a user, so a name alone shows none.
    user = None if sign_in.is_only_named else sign_in.found_user
    if user is not None and user.locale:
        challenge = replace(challenge, locale=user.locale)
    session = sign_in.next_session()
    return Challenged(
        session,
        challenge,
        sign_in.client,
        sign_in.failure,
        sign_in.account_changes,
        sign_in.event_details,
    )


def _selection(sign_in: SignInAttempt, challenge: Challenge) -> Challenge:
    """Return the list of executions in place of a form that is one of several ways."""
    if not challenge.other_ways:
        sign_in.note(_SELECTING, None)
        return challenge
    left = sign_in.flow.path(sign_in.execution)[-1]
    ways = ((left.id, left.authenticator), *challenge.other_ways)
    return Challenge(FormName.SELECT_AUTHENTICATOR, challenge.fields, other_ways=ways)


def _is_locked(failure: InvalidUserCredentials) -> bool:
    locked = {EventError.USER_TEMPORARILY_DISABLED, EventError.USER_DISABLED}
    return failure.lockout is not None or failure.event_error in locked


def _require_level(sign_in: SignInAttempt) -> None:
    """Raise LevelNotReached; without levels in the flow, credentials reach the lowest but one."""
    level, reached = sign_in.context.requested.level, sign_in.level
    if reached is None:
        reached = LOWEST_LEVEL + 1 if sign_in.used else LOWEST_LEVEL
    if level is not None and reached < level:
        raise LevelNotReached(sign_in.user.id)
