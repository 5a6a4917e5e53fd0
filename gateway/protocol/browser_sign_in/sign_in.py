"""A browser's way through a sign-in: from the authorization request to the client's response.

The engine decides who signs in; consent follows, then what the sign-in is for. Between two requests
of the browser everything is in the authentication session. Keycloak: 12.10 to 12.12
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gateway.authentication.engine import (
    BrowserSession,
    Challenged,
    Refused,
    RequestedAuthentication,
    SignedIn,
    SignInContext,
    Step,
)
from gateway.authentication.errors import AccountNotSetUp, SignInRefused
from gateway.authentication.resumable_sign_in import ResumableSignIn
from gateway.domain.authentication import (
    AuthenticationSession,
    MessageKey,
    Stage,
    new_authentication_session,
)
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import SignInFlow
from gateway.domain.ports.directory import Directory, UserEntry
from gateway.protocol.authorization import (
    AuthorizationRequest,
    Prompt,
)
from gateway.protocol.browser_sign_in.browser import Browser
from gateway.protocol.browser_sign_in.outcomes import (
    AlreadySignedIn,
    AskConsent,
    AskUser,
    Expired,
    Outcome,
    Respond,
    Stop,
)
from gateway.protocol.browser_sign_in.purposes import Purpose, Purposes
from gateway.protocol.claims.subject_identifiers import is_subject
from gateway.protocol.device_authorization import DeviceConnection
from gateway.protocol.lockout_events import note_refusal
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sign_in_results.consents import (
    ConsentDetail,
    ConsentItem,
    Consents,
    requested,
)
from gateway.protocol.sign_in_results.session_joining import DifferentUser, FinishedSignIn
from gateway.protocol.sign_in_results.sign_in_request import SignInRequest


@dataclass(frozen=True, slots=True)
class _Visit:
    """One request of a browser for a sign-in; `is_new` before anything of it was stored."""

    request: ProtocolRequest
    purpose: Purpose
    browser: Browser
    is_new: bool = False

    @property
    def asked(self) -> SignInRequest:
        return self.purpose.asked

    @property
    def client(self) -> Client:
        return self.asked.client.client

    @property
    def context(self) -> SignInContext:
        """What the engine decides by."""
        request, asked, identity = self.request, self.asked, self.browser.identity
        level = asked.level
        return SignInContext(
            realm=request.realm,
            client=self.client,
            address=request.remote_address,
            now=request.now,
            scopes=frozenset(asked.scopes.names),
            certificate=request.certificate,
            browser_session=None
            if identity is None
            else BrowserSession(identity.session, identity.authenticated_at),
            requested=RequestedAuthentication(
                level=None if level is None else level.level,
                level_is_essential=level is not None and level.essential,
                reauthenticate=Prompt.LOGIN in asked.prompt,
                max_age=asked.max_age,
                login_hint=asked.login_hint,
                remembered_username=self.browser.remembered_username,
            ),
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
    ) -> None:
        self._sign_ins = sign_ins
        self._purposes = purposes
        self._directory = directory
        self._consents = consents

    async def begin(
        self, request: ProtocolRequest, asked: AuthorizationRequest, browser: Browser
    ) -> Outcome:
        """Begin the sign-in that a client asks for."""
        return await self._begin(
            _Visit(request, self._purposes.of_client(asked), browser, is_new=True)
        )

    async def begin_for_device(
        self, request: ProtocolRequest, device: DeviceConnection, browser: Browser
    ) -> Outcome:
        """Begin the sign-in of a user who connects a device."""
        return await self._begin(
            _Visit(request, self._purposes.of_device(device), browser, is_new=True)
        )

    async def _begin(self, visit: _Visit) -> Outcome:
        flow = visit.request.realm.sign_in.browser_flow(visit.client.flow_overrides)
        if flow is None:
            return _unusable(visit)
        may_ask = Prompt.NONE not in visit.asked.prompt
        session = _new_session(visit, flow)
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
        sent = request.parameters
        execution, code = sent.get("execution"), sent.get("session_code")
        step = await self._sign_ins.submit(visit.context, session, execution, form, code)
        return await self._after(visit, step)

    async def show(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        """Show the page again that waits for the user."""
        visit = await self._visit(request, session, browser)
        execution = request.parameters.get("execution")
        step = await self._sign_ins.show(visit.context, session, execution)
        return await self._after(visit, step)

    async def restart(
        self, request: ProtocolRequest, session: AuthenticationSession, browser: Browser
    ) -> Outcome:
        """Begin the flow again in the same tab."""
        visit = await self._visit(request, session, browser)
        return await self._after(visit, await self._sign_ins.restart(visit.context, session))

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
        code = request.parameters.get("session_code")
        if session.stage is not Stage.AUTHENTICATED or not session.is_current(code):
            return _expired(visit, session)
        step = await self._sign_ins.resume(visit.context, session)
        if not isinstance(step, SignedIn):
            return await self._after(visit, step)
        user = await self._user(visit, step)
        if user is None:
            return _unusable(visit)
        if not accepted:
            await self._sign_ins.end(step.session)
            request.event.user_id = step.user.id
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
            outcome = await self._begin(_Visit(request, purpose, browser, is_new=True))
            return _with_message(outcome, MessageKey.LOGIN_TIMEOUT)
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
    ) -> _Visit:
        """Return the request with what the client asked for when the sign-in began."""
        purpose = await self._purposes.resume(request, session.request)
        request.event.begin(EventType.LOGIN)
        request.event.client_id = purpose.asked.client.client.client_id
        return _Visit(request, purpose, browser)

    async def _after(self, visit: _Visit, step: Step) -> Outcome:
        match step:
            case Challenged():
                return _challenged(visit, step)
            case SignedIn():
                return await self._signed_in(visit, step)
            case Refused():
                return _refused(visit, step.error)
        return _expired(visit, step.session)

    async def _signed_in(self, visit: _Visit, step: SignedIn) -> Outcome:
        asked, client = visit.asked, visit.client
        if not _is_hinted(asked, step.user.id):
            error = EventError.DIFFERENT_USER_AUTHENTICATED
            raise visit.purpose.refusal("login_required", error)
        user = await self._user(visit, step)
        if user is None:
            return _unusable(visit)
        items = await self._consent_items(visit, user)
        if items:
            return await self._ask_consent(visit, AskConsent(step.session, asked, items))
        given = ConsentDetail.PERSISTENT if client.consent_required else ConsentDetail.NOT_REQUIRED
        return await self._complete(visit, step, user, given)

    async def _consent_items(self, visit: _Visit, user: UserEntry) -> tuple[ConsentItem, ...]:
        """Return what the user is asked for; nothing where no consent is required."""
        asked, client = visit.asked, visit.client
        if visit.purpose.is_always_confirmed:
            itself = ConsentItem(client.client_id, client.display.name)
            return requested(user, asked.scopes) or (itself,)
        again = Prompt.CONSENT in asked.prompt
        return await self._consents.missing(client, user, asked.scopes, ask_again=again)

    async def _ask_consent(self, visit: _Visit, ask: AskConsent) -> Outcome:
        if Prompt.NONE in visit.asked.prompt:
            error = EventError.INTERACTION_REQUIRED
            raise visit.purpose.refusal("interaction_required", error)
        if visit.is_new:
            await self._sign_ins.keep(visit.context, ask.session)
        visit.request.event.withdraw()
        return ask

    async def _complete(
        self, visit: _Visit, step: SignedIn, user: UserEntry, consent: ConsentDetail
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
        )
        try:
            response, session = await visit.purpose.complete(visit.request, finished)
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

    async def _user(self, visit: _Visit, step: SignedIn) -> UserEntry | None:
        """Return the user with roles and groups; None for one that was removed meanwhile."""
        return await self._directory.user(visit.request.realm.realm.id, step.user.id)


def _is_hinted(asked: SignInRequest, user_id: str) -> bool:
    """Tell whether the user is the one of `id_token_hint`, where the request has one."""
    hint = asked.hinted_user
    return hint is None or is_subject(hint, asked.client.client, user_id)


def _challenged(visit: _Visit, step: Challenged) -> AskUser:
    if Prompt.NONE in visit.asked.prompt:
        raise visit.purpose.refusal("login_required", EventError.NOT_LOGGED_IN)
    if step.failure is None:
        visit.request.event.withdraw()
    else:
        _note_failure(visit, step.session, step.failure)
    return AskUser(step.session, visit.asked, step.challenge)


def _with_message(outcome: Outcome, message: MessageKey) -> Outcome:
    """Return the outcome with a message on its page, where it has none."""
    if not isinstance(outcome, AskUser) or outcome.challenge.message is not None:
        return outcome
    return replace(outcome, challenge=replace(outcome.challenge, message=message))


def _unusable(visit: _Visit) -> Stop:
    visit.request.event.fail(EventError.NOT_ALLOWED)
    return Stop(MessageKey.UNEXPECTED_ERROR, visit.client)


def _refused(visit: _Visit, error: SignInRefused) -> Stop:
    note_refusal(visit.request.event, error)
    if Prompt.NONE in visit.asked.prompt and isinstance(error, AccountNotSetUp):
        raise visit.purpose.refusal("interaction_required", error.event_error)
    visit.request.event.fail(error.event_error)
    return Stop(error.shown, visit.client)


def _expired(visit: _Visit, session: AuthenticationSession) -> Expired:
    visit.request.event.withdraw()
    return Expired(session, visit.asked)


def _new_session(visit: _Visit, flow: SignInFlow) -> AuthenticationSession:
    return new_authentication_session(
        realm_id=visit.request.realm.realm.id,
        client=visit.client.id,
        flow=flow.id,
        started_at=visit.request.now,
        request=visit.asked.stored(),
        session_id=visit.browser.session_id,
    )


def _note_failure(visit: _Visit, session: AuthenticationSession, failure: SignInRefused) -> None:
    event = visit.request.event
    note_refusal(event, failure)
    event.details |= {
        Detail.AUTH_METHOD: OPENID_CONNECT,
        Detail.CODE_ID: session.id,
    }
    if redirect_uri := visit.asked.event_details.get(Detail.REDIRECT_URI):
        event.details[Detail.REDIRECT_URI] = redirect_uri
    if session.attempted_username:
        event.details[Detail.USERNAME] = session.attempted_username
    event.fail(failure.event_error)
