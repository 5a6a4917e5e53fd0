"""A browser's way through a sign-in: from the authorization request to the client's response.

The engine decides who signs in; consent follows, then what the sign-in is for. Between two requests
of the browser everything is in the authentication session. Keycloak: 12.10 to 12.12
"""

from collections.abc import Mapping
from dataclasses import replace

from gateway.authentication.engine import (
    Challenged,
    Ended,
    PageExpired,
    Refused,
    SignedIn,
    Step,
)
from gateway.authentication.errors import ActionDeclined
from gateway.authentication.resumable_sign_in import ResumableSignIn
from gateway.domain.authentication import (
    AuthenticationSession,
    MessageKey,
    Stage,
)
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.directory import Directory, UserEntry
from gateway.protocol.account_console import AccountVisit
from gateway.protocol.authorization import (
    AuthorizationRequest,
    Prompt,
)
from gateway.protocol.browser_sign_in.browser import Browser
from gateway.protocol.browser_sign_in.finishing import action_parameters, completed, is_hinted
from gateway.protocol.browser_sign_in.followed_links import FollowedLink
from gateway.protocol.browser_sign_in.outcomes import (
    AlreadySignedIn,
    AskConsent,
    Outcome,
    Respond,
    Stop,
)
from gateway.protocol.browser_sign_in.purposes import Purpose, Purposes
from gateway.protocol.browser_sign_in.step_outcomes import (
    challenged,
    ended,
    expired,
    refused,
    unusable,
    with_message,
)
from gateway.protocol.browser_sign_in.visit import (
    Visit,
    event_details,
    note_changes,
    note_declined,
    with_locale,
)
from gateway.protocol.device_authorization import DeviceConnection
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_results.consents import (
    ConsentDetail,
    ConsentItem,
    Consents,
    requested,
)
from gateway.protocol.sign_in_results.session_joining import (
    DifferentUser,
    FinishedSignIn,
    SessionEnded,
)


class BrowserSignIn:
    """Signs users in on pages.

    All methods raise RedirectError for what the client is told, PageError where the client has
    changed meanwhile, StoreUnavailable and Overloaded.
    """

    def __init__(
        self,
        sign_ins: ResumableSignIn,
        purposes: Purposes,
        directory: Directory,
        consents: Consents,
        sessions: Sessions,
    ) -> None:
        self._sign_ins = sign_ins
        self._purposes = purposes
        self._directory = directory
        self._consents = consents
        self._sessions = sessions

    async def begin(
        self, request: ProtocolRequest, asked: AuthorizationRequest, browser: Browser
    ) -> Outcome:
        """Begin the sign-in that a client asks for."""
        return await self._begin(
            Visit(request, self._purposes.of_client(asked), browser, is_new=True)
        )

    async def begin_for_device(
        self, request: ProtocolRequest, device: DeviceConnection, browser: Browser
    ) -> Outcome:
        """Begin the sign-in of a user who connects a device."""
        return await self._begin(
            Visit(request, self._purposes.of_device(device), browser, is_new=True)
        )

    async def begin_for_account(
        self, request: ProtocolRequest, asked: AccountVisit, browser: Browser
    ) -> Outcome:
        """Begin the sign-in of a user who opens the account console."""
        request.event.begin(EventType.LOGIN)
        request.event.client_id = asked.client.client.client_id
        return await self._begin(
            Visit(request, self._purposes.of_account(asked), browser, is_new=True)
        )

    async def begin_by_link(
        self,
        request: ProtocolRequest,
        link: FollowedLink,
        browser: Browser,
        *,
        user_id: str,
        actions: tuple[str, ...],
    ) -> Outcome:
        """Let the user of a link perform required actions; the link has proven the user."""
        visit = Visit(request, self._purposes.of_link(link), browser, is_new=True)
        flow = visit.flow
        if flow is None:
            return unusable(visit)
        session = visit.proven_session(flow, user_id, actions)
        return await self._after(visit, await self._sign_ins.go_on(visit.context, session))

    async def _begin(self, visit: Visit) -> Outcome:
        flow = visit.flow
        if flow is None:
            return unusable(visit)
        may_ask = Prompt.NONE not in visit.asked.prompt
        session = visit.new_session(flow)
        step = await self._sign_ins.begin(visit.context, session, stored=may_ask)
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
        sent = request.parameters
        execution, code = sent.get("execution"), sent.get("session_code")
        step = await self._sign_ins.submit(visit.context, session, execution, form, code)
        return await self._after(visit, step)

    async def show(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        """Show the page again that waits for the user."""
        visit = await self._visit(request, session, browser)
        if (changed := await self._with_changed_flow(visit, session)) is not None:
            return changed
        execution = request.parameters.get("execution")
        shown = with_locale(session, request)
        step = await self._sign_ins.show(visit.context, shown, execution)
        return await self._after(visit, step)

    async def go_on(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        """Continue a sign-in that waited for what a link has done."""
        visit = await self._visit(request, session, browser)
        if (changed := await self._with_changed_flow(visit, session)) is not None:
            return changed
        return await self._after(visit, await self._sign_ins.show(visit.context, session))

    async def restart(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        """Begin the flow again in the same tab."""
        visit = await self._visit(request, session, browser)
        if not visit.purpose.has_flow:
            return await self._after(visit, await self._sign_ins.show(visit.context, session))
        return await self._restart(visit, session)

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
            return expired(visit, session)
        step = await self._sign_ins.resume(visit.context, session)
        if not isinstance(step, SignedIn):
            return await self._after(visit, step)
        user = await self._user(visit, step)
        if user is None:
            return unusable(visit)
        if not accepted:
            await self._sign_ins.end(step.session)
            request.event.user_id = step.user.id
            request.event.details |= event_details(visit, session)
            return await visit.purpose.reject(request)
        await self._consents.grant(visit.client, user, visit.asked.scopes, request.now)
        return await self._complete(visit, step, user, ConsentDetail.GRANTED)

    async def after_end(
        self,
        request: ProtocolRequest,
        browser: Browser,
        client_data: Mapping[str, str],
    ) -> Outcome:
        """Answer a form or link of a sign-in that has ended.

        The sign-in begins again where the browser has kept its request. Who is signed in meanwhile
        is sent back to the client, which may ask again: `client_data` says where it is. Raises
        PageError where that is not an address of the client.
        """
        client_id = request.parameters.get("client_id")
        restart = browser.restart
        if restart is not None and restart.get("client_id") == client_id:
            purpose = await self._purposes.resume(request, restart)
            if not purpose.has_flow:
                request.event.withdraw()
                return Stop(MessageKey.ACTION_EXPIRED, purpose.asked.client.client)
            outcome = await self._begin(Visit(request, purpose, browser, is_new=True))
            return with_message(outcome, MessageKey.LOGIN_TIMEOUT)
        request.event.begin(EventType.LOGIN)
        if browser.identity is not None and client_id is not None and client_data:
            purpose = await self._sent_back(request, client_id, client_data)
            error, text = "temporarily_unavailable", "authentication_expired"
            raise purpose.refusal(error, EventError.EXPIRED_CODE, text)
        if browser.identity is not None:
            request.event.withdraw()
            return AlreadySignedIn()
        request.event.fail(EventError.COOKIE_NOT_FOUND)
        return Stop(MessageKey.COOKIE_NOT_FOUND)

    async def _sent_back(
        self, request: ProtocolRequest, client_id: str, client_data: Mapping[str, str]
    ) -> Purpose:
        """Return what the browser says was asked for: the redirect URI is verified, no more."""
        stored = {"scope": "", **client_data, "client_id": client_id}
        return await self._purposes.resume(request, stored)

    async def _visit(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> Visit:
        """Return the request with what the client asked for when the sign-in began."""
        purpose = await self._purposes.resume(request, session.request)
        request.event.begin(EventType.LOGIN)
        request.event.client_id = purpose.asked.client.client.client_id
        return Visit(request, purpose, browser)

    async def _restart(self, visit: Visit, session: AuthenticationSession) -> Outcome:
        """Run the flow that the client has now from its beginning."""
        flow = visit.flow
        if flow is None:
            return unusable(visit)
        moved = replace(session, flow=flow.id, flow_version=flow.version)
        return await self._after(visit, await self._sign_ins.restart(visit.context, moved))

    async def _with_changed_flow(
        self, visit: Visit, session: AuthenticationSession
    ) -> Outcome | None:
        """Start over where the client's flow is no longer the one that the sign-in began with."""
        if not visit.purpose.has_flow or visit.follows_flow_of(session):
            return None
        return with_message(await self._restart(visit, session), MessageKey.LOGIN_TIMEOUT)

    async def _after(self, visit: Visit, step: Step) -> Outcome:
        await self._note_changes(visit, step)
        match step:
            case Challenged():
                return challenged(visit, step)
            case SignedIn():
                return await self._signed_in(visit, step)
            case Refused(error=ActionDeclined() as declined):
                await self._sign_ins.end(step.session)
                note_declined(visit, step.session, declined)
                return await visit.purpose.reject(visit.request, declined.text)
            case Refused():
                return refused(visit, step.error)
            case Ended():
                await self._sign_ins.end(step.session)
                return ended(visit, step)
        return expired(visit, step.session)

    async def _note_changes(self, visit: Visit, step: Step) -> None:
        """Note what the user has changed in the account, and end other sessions on request."""
        if isinstance(step, PageExpired):
            return
        noted, session = step.account_changes, step.session
        if not noted.changes or session.user_id is None:
            return
        note_changes(visit, session, noted.changes)
        if noted.ends_other_sessions:
            await self._sessions.log_out_others(
                visit.request.realm.realm,
                session.user_id,
                keep=visit.browser.user_session,
                now=visit.request.now,
            )

    async def _signed_in(self, visit: Visit, step: SignedIn) -> Outcome:
        asked, client = visit.asked, visit.client
        visit.request.event.details |= step.event_details
        if not is_hinted(asked, step.user.id):
            error = EventError.DIFFERENT_USER_AUTHENTICATED
            raise visit.purpose.refusal("login_required", error)
        page = visit.purpose.final_page(step.user)
        if page is not None:
            await self._sign_ins.end(step.session)
            visit.request.event.withdraw()
            return page
        user = await self._user(visit, step)
        if user is None:
            return unusable(visit)
        items = await self._consent_items(visit, user)
        if items:
            return await self._ask_consent(
                visit, AskConsent(step.session, asked, items, user.user.locale)
            )
        given = ConsentDetail.PERSISTENT if client.consent_required else ConsentDetail.NOT_REQUIRED
        return await self._complete(visit, step, user, given)

    async def _consent_items(self, visit: Visit, user: UserEntry) -> tuple[ConsentItem, ...]:
        """Return what the user is asked for; nothing where no consent is required."""
        asked, client = visit.asked, visit.client
        if visit.purpose.is_always_confirmed:
            itself = ConsentItem(client.client_id, client.display.name)
            return requested(user, asked.scopes) or (itself,)
        again = Prompt.CONSENT in asked.prompt
        return await self._consents.missing(client, user, asked.scopes, ask_again=again)

    async def _ask_consent(self, visit: Visit, ask: AskConsent) -> Outcome:
        if Prompt.NONE in visit.asked.prompt:
            raise visit.purpose.refusal("interaction_required", None)
        if visit.is_new:
            await self._sign_ins.keep(visit.context, ask.session)
        visit.request.event.withdraw()
        return ask

    async def _complete(
        self, visit: Visit, step: SignedIn, user: UserEntry, consent: ConsentDetail
    ) -> Outcome:
        if not visit.is_new:
            await self._sign_ins.end(step.session)
        finished = FinishedSignIn(
            user=user,
            joins=None if step.is_fresh else step.joins,
            current=visit.browser.user_session,
            level=step.level,
            remember_me=step.session.remember_me,
            notes=step.session_notes,
            consent=consent,
            action=action_parameters(visit, step),
        )
        try:
            response, session = await completed(visit, finished)
        except SessionEnded:
            # The session of the browser ended after it was found: its user has to sign in again.
            signed_out = replace(visit, browser=replace(visit.browser, identity=None), is_new=True)
            return with_message(await self._begin(signed_out), MessageKey.LOGIN_TIMEOUT)
        except DifferentUser:
            visit.request.event.fail(EventError.DIFFERENT_USER_AUTHENTICATED)
            return Stop(MessageKey.DIFFERENT_USER, visit.client, (user.user.username,))
        if finished.joins is not None:
            return Respond(response)
        remembered = user.user.username if step.session.remember_me else ""
        offered = visit.request.realm.realm.login.remember_me
        return Respond(
            response,
            session,
            browser_id=None if visit.is_new else step.session.id,
            remember=remembered if offered else None,
        )

    async def _user(self, visit: Visit, step: SignedIn) -> UserEntry | None:
        """Return the user with roles and groups; None for one that was removed meanwhile."""
        return await self._directory.user(visit.request.realm.realm.id, step.user.id)
