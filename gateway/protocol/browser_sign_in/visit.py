"""One request of a browser for a sign-in: cookies, the engine's input, the details of events."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from gateway.authentication.engine import (
    AccountChange,
    BrowserSession,
    RequestedAuthentication,
    SignInContext,
    required_by,
)
from gateway.authentication.engine.proofs import with_link
from gateway.authentication.errors import ActionDeclined, SignInRefused
from gateway.domain.authentication import (
    LOCALE,
    AuthenticationSession,
    Stage,
    new_authentication_session,
    new_browser_id,
)
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.events import Detail, EventType
from gateway.domain.flows import (
    DELETE_ACCOUNT,
    RESET_PASSWORD,
    UPDATE_PASSWORD,
    FlowUse,
    SignInFlow,
    SignInRules,
)
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.sessions import UserSession
from gateway.domain.users import User
from gateway.protocol.authorization import Prompt, SignInRequest
from gateway.protocol.browser_sign_in.purposes import Purpose
from gateway.protocol.events import note_refusal
from gateway.protocol.identity_cookie import BrowserIdentity
from gateway.protocol.requests import ProtocolRequest


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser in one realm.

    `session_id` is the id of its authentication sessions, `identity` that of the signed-in user.
    """

    session_id: str | None = None
    identity: BrowserIdentity | None = None
    remembered_username: str | None = field(default=None, repr=False)

    @property
    def user_session(self) -> UserSession | None:
        """The session of the user who is signed in."""
        return None if self.identity is None else self.identity.session


_MAXIMUM_AGE: Final[timedelta | None] = timedelta(minutes=5)
"""For an action that sets none. Keycloak: 16.1 required actions."""
_LINK: Final = "link"
"""The kind of credential that the link of a mail is."""
_LONGEST_LOCALE: Final = 35
"""Characters of a language tag. Spec: RFC 5646 §4.4.1."""


@dataclass(frozen=True, slots=True)
class BrowserRequestContext:
    """One request of a browser for a sign-in; `is_new` before anything of it was stored.

    `use` is the flow that the sign-in begins with, such as that of registration.
    """

    request: ProtocolRequest
    purpose: Purpose
    browser: Browser
    is_new: bool = False
    use: FlowUse = FlowUse.SIGN_IN
    asked: SignInRequest = field(init=False)
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", self.purpose.asked)
        object.__setattr__(self, "client", self.purpose.asked.client.client)

    @property
    def context(self) -> SignInContext:
        """The input of the engine."""
        request, asked, identity = self.request, self.asked, self.browser.identity
        level = asked.level
        enforced = asked.enforced_flow if self.use is FlowUse.SIGN_IN else None
        flow_level = None if enforced is None else enforced.level
        levels = (None if level is None else level.level, flow_level)
        return SignInContext(
            realm=request.realm,
            client=self.client,
            address=request.remote_address,
            now=request.now,
            scopes=frozenset(asked.scopes.names),
            certificate=request.certificate,
            browser_session=None
            if identity is None
            else BrowserSession(identity.session, identity.user, identity.authenticated_at),
            has_pages=True,
            may_ask=Prompt.NONE not in asked.prompt,
            issuer=request.issuer,
            requested=RequestedAuthentication(
                level=max((each for each in levels if each is not None), default=None),
                level_is_essential=level is not None and level.essential,
                flow_level=flow_level,
                reauthenticate=Prompt.LOGIN in asked.prompt,
                max_age=asked.max_age
                if asked.action is None
                else _maximum_age(request.realm, asked.action, asked.max_age),
                action=asked.action,
                action_parameter=asked.action_parameter,
                login_hint=asked.login_hint,
                remembered_username=self.browser.remembered_username,
            ),
        )

    @property
    def flow(self) -> SignInFlow | None:
        """The flow as it is now; None where it cannot be used, or the realm does not permit it.

        Client policies choose a flow for signing in, not for registration or a reset.
        """
        entry, enforced = self.request.realm, self.asked.enforced_flow
        if self.use is FlowUse.SIGN_IN:
            if enforced is not None:
                return entry.sign_in.named(enforced.alias)
        elif not is_permitted(entry, self.use):
            return None
        return entry.sign_in.browser_flow(self.client.flow_overrides, self.use)

    def new_session(self, flow: SignInFlow) -> AuthenticationSession:
        """Return the authentication session of a new tab."""
        return new_authentication_session(
            realm_id=self.request.realm.realm.id,
            client=self.client.id,
            flow=flow.id,
            flow_version=flow.version,
            started_at=self.request.now,
            request=self.asked.stored(),
            session_id=self.browser.session_id,
            notes=_locale_note(self.request),
        )

    def proven_session(
        self, flow: SignInFlow, user: User, actions: tuple[str, ...], marks: tuple[str, str]
    ) -> AuthenticationSession:
        """Return the session of a user whom a link has proven, with actions to perform.

        It ends when the user gets another address, or other credentials than those of the `marks`
        (of the password, and of all credentials), unless by the actions of the session. Its id is
        new: an id that an attacker has planted in the browser must not gain the link.
        """
        session = replace(self.new_session(flow), id=new_browser_id())
        proven = replace(
            session,
            stage=Stage.AUTHENTICATED,
            user_id=user.id,
            attempted_username=user.username,
            used=frozenset({_LINK}),
        )
        return required_by(with_link(proven, user, *marks), actions)


def is_permitted(entry: RealmEntry, use: FlowUse) -> bool:
    """Tell whether the realm lets a browser begin with this."""
    login = entry.realm.login
    match use:
        case FlowUse.REGISTRATION:
            return login.registration_allowed
        case FlowUse.RESET_CREDENTIALS:
            return login.reset_password_allowed and _sets_what_is_offered(entry.sign_in)
    return True


def _sets_what_is_offered(rules: SignInRules) -> bool:
    """Tell whether a reset that ends in a new password can ask for one.

    Without UPDATE_PASSWORD its link would be a sign-in by mail, as it is in Keycloak.
    """
    flow = rules.reset_credentials
    steps = () if flow is None else flow.every_step()
    sets_password = any(step.authenticator == RESET_PASSWORD for step in steps)
    return rules.offers(UPDATE_PASSWORD) or not sets_password


def offered_flows(entry: RealmEntry) -> tuple[FlowUse, ...]:
    """Return the flows that the page of a sign-in links to."""
    uses = (FlowUse.REGISTRATION, FlowUse.RESET_CREDENTIALS)
    return tuple(
        use
        for use in uses
        if is_permitted(entry, use) and entry.sign_in.browser_flow({}, use) is not None
    )


def _maximum_age(entry: RealmEntry, action: str, of_client: timedelta | None) -> timedelta | None:
    """Return the shorter of the client's `max_age` and the largest age for the requested action."""
    if action == DELETE_ACCOUNT:
        return timedelta(0)
    age = _MAXIMUM_AGE
    if action == UPDATE_PASSWORD:
        age = entry.realm.password_policy.maximum_authentication_age
    age = entry.sign_in.action_ages.get(action, age)
    return min((one for one in (age, of_client) if one is not None), default=None)


def _locale_note(request: ProtocolRequest) -> dict[str, str]:
    """Return the language that the user has chosen with this request, as a note."""
    chosen = (request.parameters.get("kc_locale") or "")[:_LONGEST_LOCALE]
    return {LOCALE: chosen} if chosen else {}


def with_locale(session: AuthenticationSession, request: ProtocolRequest) -> AuthenticationSession:
    """Return the sign-in with the language that the user has chosen, if any."""
    return replace(session, notes={**session.notes, **_locale_note(request)})


def note_failure(
    visit: BrowserRequestContext, session: AuthenticationSession, failure: SignInRefused
) -> None:
    """Note the event of a form that was refused."""
    event = visit.request.event
    note_refusal(event, failure)
    event.details = {Detail.AUTH_TYPE: "code", **event_details(visit, session)}
    event.error = failure.event_error


def note_declined(
    visit: BrowserRequestContext, session: AuthenticationSession, declined: ActionDeclined
) -> None:
    """Note the event of a required action that the user has declined."""
    event = visit.request.event
    event.kind = EventType.CUSTOM_REQUIRED_ACTION
    event.user_id = declined.user_id
    event.details |= event_details(visit, session)
    event.details[Detail.CUSTOM_REQUIRED_ACTION] = declined.action


def note_changes(
    visit: BrowserRequestContext, session: AuthenticationSession, changes: tuple[AccountChange, ...]
) -> None:
    """Note the events of the changes that a required action has made."""
    event = visit.request.event
    event.user_id = session.user_id
    event.details |= event_details(visit, session)
    event.changes += tuple(
        replace(change, details={**event.details, **change.details}) for change in changes
    )


def event_details(visit: BrowserRequestContext, session: AuthenticationSession) -> dict[str, str]:
    """Return the details that every event of a sign-in has."""
    details: dict[str, str] = {
        Detail.AUTH_METHOD: OPENID_CONNECT,
        Detail.CODE_ID: session.id,
    }
    if redirect_uri := visit.asked.event_details.get(Detail.REDIRECT_URI):
        details[Detail.REDIRECT_URI] = redirect_uri
    if session.attempted_username:
        details[Detail.USERNAME] = session.attempted_username
    return details
