"""The response for each outcome of a request for a sign-in, and the URLs of its forms and links.

Keycloak: 12.12 login pages
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from gateway.authentication.engine import Challenged, Inform, PageExpired, Refused
from gateway.authentication.errors import AccountNotSetUp, ActionForbidden
from gateway.domain import base64url
from gateway.domain.authentication import LOCALE, AuthenticationSession
from gateway.domain.clients import Client
from gateway.domain.flows import FlowUse
from gateway.domain.localization import LocalizedText
from gateway.domain.ports.client_keys import ClientEncrypters
from gateway.http.browser import (
    EXPIRED,
    BrowserCookies,
    BrowserRequest,
    Cookie,
    CookieName,
    PageReplies,
    client_display,
    cookie_headers,
    signed_out,
)
from gateway.http.exchange import Exchange
from gateway.http.pages import LocalePreferences
from gateway.http.pages.page_values import View
from gateway.http.pages.views import (
    AlreadySignedInPage,
    ConsentPage,
    ConsentScope,
    ErrorPage,
    FormPostPage,
    InfoPage,
    PageExpiredPage,
    RequiredActionPage,
)
from gateway.http.replies import NOT_KEPT, Reply
from gateway.http.sign_in.challenge_pages import PagePlace, challenge_view
from gateway.protocol.account_console import AccountPage, AccountResult
from gateway.protocol.authorization import RedirectError
from gateway.protocol.browser_sign_in import (
    AskConsent,
    Outcome,
    Respond,
    offered_flows,
)
from gateway.protocol.device_authorization import DeviceResult, verification_uri
from gateway.protocol.response_modes import AuthorizationResponse, Redirect, deliver_response


def account_url(issuer: str, page: AccountPage, **parameters: str) -> str:
    """Return the URL of a page; empty parameters are left out."""
    query = urlencode({name: text for name, text in parameters.items() if text})
    return f"{issuer}/account/{page.value}" + (f"?{query}" if query else "")


def result_url(issuer: str, result: AccountResult) -> str:
    """Return the URL of the page that a sign-in was for, with the result of its action."""
    return account_url(issuer, result.page, kc_action=result.action, kc_action_status=result.status)


ACTION_TOKEN: Final = "action-token"  # noqa: S105 - a part of a URL
AUTHENTICATE: Final = FlowUse.SIGN_IN.value
CONSENT: Final = "consent"
REQUIRED_ACTION: Final = "required-action"
REGISTRATION: Final = FlowUse.REGISTRATION.value
RESET_CREDENTIALS: Final = FlowUse.RESET_CREDENTIALS.value
RESTART: Final = "restart"
_LONGEST: Final = 8 * 1024


def action_url(
    issuer: str,
    action: str,
    session: AuthenticationSession,
    *,
    with_code: bool = True,
    with_execution: bool = True,
) -> str:
    """Return the URL of an action of a sign-in; a link that changes nothing is without its code.

    A link to another flow is without the execution, which belongs to this one.
    """
    pairs = {
        "session_code": session.session_code if with_code else None,
        "execution": session.waits_for if with_execution else None,
        "client_id": session.request["client_id"],
        "tab_id": session.tab_id,
        "client_data": write_client_data(session.request),
    }
    sent = {name: text for name, text in pairs.items() if text is not None}
    return f"{issuer}/login-actions/{action}?{urlencode(sent)}"


_CLIENT_DATA: Final = {
    "ru": "redirect_uri",
    "rt": "response_type",
    "rm": "response_mode",
    "st": "state",
    "ap": "account_page",
}
"""Keycloak's short names of the parameters that a form keeps of the request."""


def write_client_data(stored: Mapping[str, str]) -> str:
    """Return where an answer goes to, for a form whose sign-in has ended.

    Keycloak: 12.12 login pages.
    """
    known = {short: stored[name] for short, name in _CLIENT_DATA.items() if name in stored}
    return base64url.encode(orjson.dumps(known))


def read_client_data(text: str | None) -> dict[str, str]:
    """Return what `write_client_data` kept, by name of parameter; nothing where it is unreadable.

    It comes from the browser, so nothing in it is verified.
    """
    if not text or len(text) > _LONGEST:
        return {}
    try:
        found: Any = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        return {}
    return {_CLIENT_DATA[short]: one for short, one in found.items() if short in _CLIENT_DATA}


def device_status_url(request: BrowserRequest, result: DeviceResult) -> str:
    """Return the URL of the page for a result. Keycloak: 12.9 device authorization."""
    query = f"?{urlencode({'error': result.value})}" if result.value else ""
    return f"{verification_uri(request.protocol.issuer)}/status{query}"


class OutcomeReplies:
    """Turns outcomes into responses."""

    def __init__(
        self, pages: PageReplies, cookies: BrowserCookies, encryption: ClientEncrypters
    ) -> None:
        self._pages = pages
        self._cookies = cookies
        self._encryption = encryption

    async def reply(self, request: BrowserRequest, exchange: Exchange, outcome: Outcome) -> Reply:
        """Return the response; raises OAuthError where one cannot be signed or encrypted."""
        match outcome:
            case Challenged() | AskConsent():
                return await self._ask(request, outcome)
            case Respond():
                return await self._respond(request, outcome)
            case PageExpired():
                return await self._expired(request, outcome)
            case Refused(error=error):
                view = _refusal(outcome, exchange)
                forbidden = isinstance(error, ActionForbidden)
                status = HTTPStatus.FORBIDDEN if forbidden else HTTPStatus.BAD_REQUEST
                return await self._show(request, view, outcome.client, status=status)
            case Inform():
                return await self._inform(request, outcome)
        return await self._show(request, AlreadySignedInPage(), None)

    async def refused(
        self, request: BrowserRequest, exchange: Exchange, refusal: RedirectError
    ) -> Reply:
        """Send the browser to the client with an error."""
        exchange.log.reason = str(refusal)
        if refusal.event is not None:
            request.protocol.event.refuse(refusal.event)
        else:
            request.protocol.event.withdraw()
        return await self.deliver(request, refusal.response)

    async def deliver(
        self,
        request: BrowserRequest,
        response: AuthorizationResponse,
        cookies: tuple[Cookie, ...] = (),
    ) -> Reply:
        """Send the browser to the client with a response, or with an error."""
        delivery = await deliver_response(request.protocol, response, self._encryption)
        if isinstance(delivery, Redirect):
            return _redirect(request, delivery.url, cookies)
        view = FormPostPage(action=delivery.url, fields=tuple(delivery.fields.items()))
        return await self._show(request, view, response.target.client, cookies)

    async def _ask(self, request: BrowserRequest, outcome: Challenged | AskConsent) -> Reply:
        protocol, session = request.protocol, outcome.session
        cookies = self._cookies.issue_sign_in_cookies(protocol, session)
        action = _action(request, session)
        shown = action_url(protocol.issuer, action, session, with_code=False)
        if isinstance(outcome, AskConsent):
            view, locale = _consent(protocol.issuer, outcome), outcome.locale
        else:
            view, locale = _form(request, outcome, action), outcome.challenge.locale
        request = replace(request, preferences=_preferences(request.preferences, session, locale))
        return await self._show(request, view, outcome.client, cookies, url=shown)

    async def _respond(self, request: BrowserRequest, outcome: Respond) -> Reply:
        signed_in = outcome.signed_in
        cookies = (
            (EXPIRED[CookieName.RESTART],)
            if signed_in is None
            else self._cookies.issue_session_cookies(
                request.protocol, signed_in, outcome.remember, outcome.browser_id
            )
        )
        if isinstance(outcome.response, DeviceResult):
            return _redirect(request, device_status_url(request, outcome.response), cookies)
        if isinstance(outcome.response, AccountResult):
            return _redirect(
                request, result_url(request.protocol.issuer, outcome.response), cookies
            )
        return await self.deliver(request, outcome.response, cookies)

    async def _expired(self, request: BrowserRequest, outcome: PageExpired) -> Reply:
        link = partial(
            action_url, request.protocol.issuer, session=outcome.session, with_code=False
        )
        view = PageExpiredPage(
            restart_url=link(RESTART),
            continue_url=link(_action(request, outcome.session)),
            client=client_display(outcome.client),
        )
        return await self._show(request, view, outcome.client)

    async def _inform(self, request: BrowserRequest, outcome: Inform) -> Reply:
        view = InfoPage(
            message=LocalizedText(outcome.message, outcome.arguments),
            title=None if outcome.title is None else LocalizedText(outcome.title),
            continue_url=outcome.continue_url,
            client=None if outcome.client is None else client_display(outcome.client),
        )
        request = replace(request, preferences=replace(request.preferences, user=outcome.locale))
        cookies = signed_out() if outcome.signs_out else ()
        return await self._show(request, view, outcome.client, cookies)

    async def _show(
        self,
        request: BrowserRequest,
        view: View,
        client: Client | None,
        cookies: tuple[Cookie, ...] = (),
        *,
        status: int = HTTPStatus.OK,
        url: str | None = None,
    ) -> Reply:
        realm = request.protocol.realm.realm
        page = await self._pages.page(
            view, realm, request.preferences, status=status, client=client, url=url
        )
        set_cookies = cookie_headers(request.protocol, cookies)
        return Reply(page.status, (*page.headers, *set_cookies), page.body)


def _preferences(
    preferences: LocalePreferences, session: AuthenticationSession, of_user: str
) -> LocalePreferences:
    """Add the languages that the sign-in keeps: the user's choice, and the client's request."""
    return replace(
        preferences,
        chosen=preferences.chosen or session.notes.get(LOCALE, ""),
        user=of_user,
        client=preferences.client or session.request.get("ui_locales", ""),
    )


def _consent(issuer: str, outcome: AskConsent) -> View:
    return ConsentPage(
        action=action_url(issuer, CONSENT, outcome.session),
        code=outcome.session.session_code,
        client=client_display(outcome.client),
        scopes=tuple(ConsentScope(item.text or item.scope) for item in outcome.items),
        username=outcome.username,
    )


def _form(request: BrowserRequest, outcome: Challenged, action: str) -> View:
    issuer, entry, session = request.protocol.issuer, request.protocol.realm, outcome.session
    link = partial(action_url, issuer, session=session, with_code=False)
    place = PagePlace(
        action=action_url(issuer, action, session),
        restart_url=link(RESTART),
        client=client_display(outcome.client),
        login=entry.realm.login,
        password_policy=entry.realm.password_policy,
        other_flows={use: link(use.value, with_execution=False) for use in offered_flows(entry)},
    )
    return challenge_view(outcome.challenge, place)


def _refusal(outcome: Refused, exchange: Exchange) -> View:
    client, error = outcome.client, outcome.error
    shown = None if client is None else client_display(client)
    if isinstance(error, AccountNotSetUp) and error.action is not None:
        return RequiredActionPage(actions=(error.action,), client=shown)
    message = LocalizedText(error.shown, error.arguments)
    return ErrorPage(message=message, error_id=exchange.request_id, client=shown)


def _action(request: BrowserRequest, session: AuthenticationSession) -> str:
    if session.required_action is not None:
        return REQUIRED_ACTION
    return request.protocol.realm.sign_in.use_of(session.flow).value


def _redirect(request: BrowserRequest, url: str, cookies: tuple[Cookie, ...]) -> Reply:
    location = (b"location", url.encode("ascii", "xmlcharrefreplace"))
    headers = (location, *NOT_KEPT, *cookie_headers(request.protocol, cookies))
    return Reply(HTTPStatus.FOUND, headers)
