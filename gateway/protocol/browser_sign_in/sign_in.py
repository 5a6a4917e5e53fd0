"""A browser's way through a sign-in: from the authorization request to the client's response.

The engine decides who signs in; consent follows, then what the sign-in is for. Between two requests
of the browser everything is in the authentication session. Keycloak: 12.10 to 12.12 authorization
to login pages
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gateway.authentication.authenticators.reset_credentials import proven_by_link
from gateway.authentication.engine import (
    Challenged,
    Inform,
    PageExpired,
    Refused,
    SignedIn,
    SignInResult,
)
from gateway.authentication.engine.sign_in import ASKED_BY_LINK, FORCED_SIGN_IN
from gateway.authentication.errors import ActionDeclined, SignInStopped
from gateway.authentication.sign_in_engine import SignInEngine
from gateway.domain.authentication import AuthenticationSession, MessageKey, Stage
from gateway.domain.events import EventError, EventType
from gateway.domain.flows import FlowUse
from gateway.domain.ports.lookups import Directory, UserEntry
from gateway.domain.users import User
from gateway.protocol.account_console import AccountVisit
from gateway.protocol.authorization import Prompt, SignInRequest
from gateway.protocol.browser_sign_in.outcomes import AskConsent, Outcome, Respond
from gateway.protocol.browser_sign_in.purposes import FollowedLink, LinkPurpose, Purposes
from gateway.protocol.browser_sign_in.step_outcomes import (
    closed_sign_in,
    consent_items,
    different_user,
    finished_sign_in,
    note_account_changes,
    note_challenge,
    note_refused_sign_in,
    unusable,
    with_message,
    without_sign_in,
)
from gateway.protocol.browser_sign_in.visit import (
    Browser,
    BrowserRequestContext,
    event_details,
    is_permitted,
    note_declined,
    with_locale,
)
from gateway.protocol.claims.subject import is_subject
from gateway.protocol.consents import ConsentDetail, Consents
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_completion import DifferentUser, SessionEnded


@dataclass(frozen=True, slots=True)
class BrowserSignIn:
    """Signs users in on pages.

    All methods raise RedirectError for an error that the client gets, PageError where the client
    has changed meanwhile, StoreUnavailable and Overloaded.
    """

    _engine: SignInEngine
    _purposes: Purposes
    _directory: Directory
    _consents: Consents
    _sessions: Sessions

    async def begin(
        self,
        request: ProtocolRequest,
        asked: SignInRequest,
        browser: Browser,
        use: FlowUse = FlowUse.SIGN_IN,
    ) -> Outcome:
        """Begin the sign-in for a client, a device or the account console, as `use` says."""
        if isinstance(asked, AccountVisit):  # no endpoint has begun the event
            request.event.kind = EventType.LOGIN
            request.event.client_id = asked.client.client.client_id
        purpose = self._purposes.purpose_of(asked)
        return await self._begin(
            BrowserRequestContext(request, purpose, browser, is_new=True, use=use)
        )

    async def begin_by_link(
        self,
        request: ProtocolRequest,
        link: FollowedLink,
        browser: Browser,
        *,
        user: User,
        actions: tuple[str, ...],
        password: str,
        credentials: str,
    ) -> Outcome:
        """Let the user of a link perform required actions; the link has proven the user.

        `password` and `credentials` are the marks of what the user has now.
        """
        visit = BrowserRequestContext(
            request, self._purposes.purpose_of(link), browser, is_new=True
        )
        flow = visit.flow
        if flow is None:
            return unusable(visit)
        session = visit.proven_session(flow, user, actions, (password, credentials))
        return await self._after(visit, await self._engine.begin(visit.context, session))

    async def begin_reset(
        self,
        request: ProtocolRequest,
        link: FollowedLink,
        browser: Browser,
        *,
        user: User,
        waiting: AuthenticationSession | None,
        password: str,
    ) -> Outcome:
        """Let the user of a link reset the credentials; the link has proven the user.

        `password` is the mark of the password for which the link was sent.
        What this browser asked for follows where its sign-in is `waiting` for the link.
        """
        purpose = self._purposes.purpose_of(link)
        if waiting is not None:
            purpose = await self._purposes.restore_purpose(request, waiting.request)
            await self._engine.end(waiting)
        visit = BrowserRequestContext(
            request, purpose, browser, is_new=True, use=FlowUse.RESET_CREDENTIALS
        )
        flow = visit.flow
        if flow is None:
            return unusable(visit)
        request.event.kind = EventType.LOGIN
        request.event.client_id = visit.client.client_id
        session = proven_by_link(visit.new_session(flow), user, password)
        return await self._after(visit, await self._engine.begin(visit.context, session))

    async def _begin(self, visit: BrowserRequestContext) -> Outcome:
        flow, stop = visit.flow, closed_sign_in(visit)
        if flow is None or stop is not None:
            return stop or unusable(visit)
        may_ask = Prompt.NONE not in visit.asked.prompt
        session = visit.new_session(flow)
        step = await self._engine.begin(visit.context, session, stored=may_ask)
        return await self._after(visit, step)

    async def submit(
        self,
        request: ProtocolRequest,
        session: AuthenticationSession,
        browser: Browser,
        form: Mapping[str, str],
    ) -> Outcome:
        """Take a form of a sign-in page."""
        visit = await self._visit(request, session, browser)
        if (changed := await self._with_changed_flow(visit, session)) is not None:
            return changed
        if session.stage is Stage.FLOW and (stop := closed_sign_in(visit)) is not None:
            return stop
        sent = request.parameters
        execution, code = sent.get("execution"), sent.get("session_code")
        step = await self._engine.submit(visit.context, session, execution, form, code)
        return await self._after(visit, step)

    async def show_page(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        """Show the page that waits for the user, in the language that the request chooses."""
        execution = request.parameters.get("execution")
        return await self.resume(request, with_locale(session, request), browser, execution)

    async def resume(
        self,
        request: ProtocolRequest,
        session: AuthenticationSession,
        browser: Browser,
        execution: str | None = None,
    ) -> Outcome:
        """Show the page that waits for the user, or go on where a link has made it needless.

        Yields PageExpired where `execution` is that of another step. The request may be of a link,
        whose parameters are not those of the sign-in.
        """
        visit = await self._visit(request, session, browser)
        if (changed := await self._with_changed_flow(visit, session)) is not None:
            return changed
        step = await self._engine.resume(visit.context, session, execution)
        return await self._after(visit, step)

    async def restart(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        """Begin to sign in again in the same tab."""
        visit = await self._visit(request, session, browser)
        if not visit.purpose.has_flow:
            return await self._after(visit, await self._engine.resume(visit.context, session))
        return await self._restart(visit, session)

    async def switch(
        self,
        request: ProtocolRequest,
        session: AuthenticationSession,
        browser: Browser,
        use: FlowUse,
    ) -> Outcome:
        """Go on in the same tab with something else, such as registration, or show its page."""
        visit = await self._visit(request, session, browser)
        if visit.use is use or not visit.purpose.has_flow:
            return await self.show_page(request, session, browser)
        return await self._restart(visit, session, use)

    async def decide(
        self,
        request: ProtocolRequest,
        session: AuthenticationSession,
        browser: Browser,
        *,
        accepted: bool,
    ) -> Outcome:
        """Take the user's answer to the consent page."""
        visit = await self._visit(request, session, browser)
        if (changed := await self._with_changed_flow(visit, session)) is not None:
            return changed
        code = request.parameters.get("session_code")
        if session.stage is not Stage.AUTHENTICATED or not session.is_current(code):
            request.event.withdraw()
            return PageExpired(session, visit.client)
        step = await self._engine.finish(visit.context, session)
        if not isinstance(step, SignedIn):
            return await self._after(visit, step)
        user = await self._directory.user(visit.request.realm.realm.id, step.user.id)
        if user is None:
            return unusable(visit)
        if not accepted:
            await self._engine.end(step.session)
            request.event.user_id = step.user.id
            request.event.details |= event_details(visit, session)
            return await visit.purpose.reject(request)
        await self._consents.grant(visit.client, user, visit.asked.scopes, request.now)
        return await self._complete(visit, step, user, ConsentDetail.GRANTED)

    async def after_end(
        self,
        request: ProtocolRequest,
        browser: Browser,
        *,
        restart: Mapping[str, str] | None,
        client_data: Mapping[str, str],
    ) -> Outcome:
        """Answer a form or link of a sign-in that has ended.

        The sign-in begins again where the browser has kept its request, `restart`. A user who is
        signed in meanwhile is sent back to the client, which may ask again: `client_data` says
        where it is. Raises PageError where that is not an address of the client.
        """
        client_id = request.parameters.get("client_id")
        if restart is not None and restart.get("client_id") == client_id:
            purpose = await self._purposes.restore_purpose(request, restart)
            if not purpose.has_flow:
                request.event.withdraw()
                error = SignInStopped(EventError.EXPIRED_CODE, MessageKey.ACTION_EXPIRED)
                return Refused(error, purpose.asked.client.client)
            outcome = await self._begin(
                BrowserRequestContext(request, purpose, browser, is_new=True)
            )
            return with_message(outcome, MessageKey.LOGIN_TIMEOUT)
        return await without_sign_in(self._purposes, request, browser, client_data)

    async def _visit(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> BrowserRequestContext:
        """Return the request with the purpose of its sign-in; its event becomes LOGIN."""
        purpose = await self._purposes.restore_purpose(request, session.request)
        request.event.kind = EventType.LOGIN
        request.event.client_id = purpose.asked.client.client.client_id
        use = request.realm.sign_in.use_of(session.flow)
        return BrowserRequestContext(request, purpose, browser, use=use)

    async def _restart(
        self,
        visit: BrowserRequestContext,
        session: AuthenticationSession,
        use: FlowUse = FlowUse.SIGN_IN,
    ) -> Outcome:
        """Run the flow that the client has now from its beginning."""
        visit = replace(visit, use=use)
        flow, stop = visit.flow, closed_sign_in(visit)
        if flow is None or stop is not None:
            return stop or unusable(visit)
        moved = replace(session, flow=flow.id, flow_version=flow.version)
        return await self._after(visit, await self._engine.restart(visit.context, moved))

    async def _with_changed_flow(
        self, visit: BrowserRequestContext, session: AuthenticationSession
    ) -> Outcome | None:
        """Start over where the client's flow has changed since; end pages of a forbidden link."""
        if not visit.purpose.has_flow:
            return None if is_permitted(visit.request.realm, visit.use) else unusable(visit)
        flow, known = visit.flow, session.flow_version or None
        if flow is not None and flow.id == session.flow and known in {None, flow.version}:
            return None
        again = await self._restart(visit, session, visit.use)
        return with_message(again, MessageKey.LOGIN_TIMEOUT)

    async def _after(self, visit: BrowserRequestContext, step: SignInResult) -> Outcome:
        """Note the events of a result of the engine, and go on where the user is signed in."""
        if step.account_changes.changes:
            await note_account_changes(self._sessions, visit, step)
        match step:
            case SignedIn():
                return await self._signed_in(visit, step)
            case Challenged():
                note_challenge(visit, step)
            case Refused(error=ActionDeclined() as declined, session=session) if session:
                await self._engine.end(session)
                note_declined(visit, session, declined)
                return await visit.purpose.reject(visit.request, declined.text)
            case Refused():
                note_refused_sign_in(visit, step.error)
            case Inform(session=session) if session:
                await self._engine.end(session)
                visit.request.event.withdraw()
            case _:
                visit.request.event.withdraw()
        return step

    async def _signed_in(self, visit: BrowserRequestContext, step: SignedIn) -> Outcome:
        asked, client = visit.asked, visit.client
        hint = asked.hinted_user
        if hint is not None and not is_subject(hint, asked.client.client, step.user.id):
            error = EventError.DIFFERENT_USER_AUTHENTICATED
            raise visit.purpose.refusal("login_required", error)
        if isinstance(visit.purpose, LinkPurpose):
            await self._engine.end(step.session)
            visit.request.event.withdraw()
            return visit.purpose.final_page(step.user)
        # Registration or a reset must not replace a flow that policies choose.
        is_evasion = visit.use is not FlowUse.SIGN_IN and asked.enforced_flow is not None
        if FORCED_SIGN_IN in step.session.notes or is_evasion:
            await self._engine.end(step.session)
            again = replace(visit, use=FlowUse.SIGN_IN, is_new=True)
            return with_message(await self._begin(again), MessageKey.ACCOUNT_UPDATED)
        user = await self._directory.user(visit.request.realm.realm.id, step.user.id)
        if user is None:
            return unusable(visit)
        if client.consent_required or visit.purpose.is_always_confirmed:
            items = await consent_items(self._consents, visit, user)
            if items:
                name, locale = user.user.username, user.user.locale
                ask = AskConsent(step.session, client, items, name, locale)
                return await self._ask_consent(visit, ask)
        given = ConsentDetail.PERSISTENT if client.consent_required else ConsentDetail.NOT_REQUIRED
        return await self._complete(visit, step, user, given)

    async def _ask_consent(self, visit: BrowserRequestContext, ask: AskConsent) -> Outcome:
        if Prompt.NONE in visit.asked.prompt:
            raise visit.purpose.refusal("interaction_required", None)
        if visit.is_new:
            await self._engine.store(visit.context, ask.session)
        visit.request.event.withdraw()
        return ask

    async def _complete(
        self, visit: BrowserRequestContext, step: SignedIn, user: UserEntry, consent: ConsentDetail
    ) -> Outcome:
        if not visit.is_new:
            await self._engine.end(step.session)
        if ASKED_BY_LINK in step.session.notes:
            # The link names no session, so the end of the session that begins would not end it.
            await self._sessions.cancel_email_update(visit.request.realm.realm.id, user.user.id)
        visit.request.event.details |= step.event_details
        finished = finished_sign_in(visit, step, user, consent)
        try:
            response, session = await visit.purpose.complete(visit.request, finished)
        except SessionEnded:
            # The session of the browser ended after it was found: its user has to sign in again.
            signed_out = replace(visit, browser=replace(visit.browser, identity=None), is_new=True)
            return with_message(await self._begin(signed_out), MessageKey.LOGIN_TIMEOUT)
        except DifferentUser:
            return different_user(visit, user.user.username)
        if finished.joins is not None:
            return Respond(response)
        remembered = step.user.username if finished.remember_me else ""
        return Respond(
            response,
            session,
            browser_id=None if visit.is_new else step.session.id,
            remember=remembered if visit.request.realm.realm.login.remember_me else None,
        )
