"""/realms/{realm}/device: the user types the code that a device shows.

A link with the code shows it, and the user sends it on: a device is never connected by a link
alone. What the form begins is a sign-in, which ends with the user's consent; that carries the code
of its page, so no other site can answer for the user.
Spec: RFC 8628 §3.3, §3.3.1, §5.4; Keycloak: 12.9 device authorization
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from gateway.authentication.engine import Challenged
from gateway.domain.authorization_codes import displayed_user_code, parse_user_code
from gateway.domain.localization import LocalizedText
from gateway.http.browser import BrowserCookies, BrowserRequest, PageReplies
from gateway.http.exchange import Exchange
from gateway.http.pages.page_values import Message, View
from gateway.http.pages.views import DeviceCodePage, DeviceDonePage
from gateway.http.replies import Reply
from gateway.http.sign_in.replies import OutcomeReplies
from gateway.protocol.browser_sign_in import AskConsent, BrowserSignIn
from gateway.protocol.device_authorization import (
    DeviceResult,
    UserCodeRefused,
    UserCodes,
    note_verified,
    verification_uri,
)

_FIELD: Final = "device_user_code"
_FAILURES: Final = {
    DeviceResult.DENIED: "oauth2DeviceConsentDeniedMessage",
    DeviceResult.EXPIRED: "oauth2DeviceExpiredUserCodeMessage",
}


@dataclass(frozen=True, slots=True)
class DevicePages:
    """The handlers of the page of the code, and of the page at the end."""

    _user_codes: UserCodes
    _sign_in: BrowserSignIn
    _cookies: BrowserCookies
    _replies: OutcomeReplies
    _pages: PageReplies

    async def code(self, request: BrowserRequest, exchange: Exchange) -> Reply:
        """Ask for the code, or take it and begin the sign-in."""
        typed = request.form.get(_FIELD, "") if request.is_form else ""
        if not typed.strip():
            linked = parse_user_code(request.protocol.parameters.get("user_code") or "")
            return await self._ask(request, displayed_user_code(linked) if linked else "")
        try:
            device = await self._user_codes.find_device(request.protocol, typed)
        except UserCodeRefused as refusal:
            return await self._refused(request, exchange, refusal)
        exchange.log.client = device.client.client.client_id
        browser = await self._cookies.read_browser(request)
        outcome = await self._sign_in.begin(request.protocol, device, browser)
        if isinstance(outcome, Challenged | AskConsent):
            note_verified(request.protocol, device)
        return await self._replies.reply(request, exchange, outcome)

    async def status(self, request: BrowserRequest, exchange: Exchange) -> Reply:  # noqa: ARG002
        """Show the result of the device. The URL proves nothing and changes nothing."""
        error = request.protocol.parameters.get("error")
        if error is None:
            return await self._show(request, DeviceDonePage(succeeded=True))
        failures = {str(result): LocalizedText(key) for result, key in _FAILURES.items()}
        view = DeviceDonePage(succeeded=False, message=failures.get(error))
        return await self._show(request, view)

    async def _refused(
        self, request: BrowserRequest, exchange: Exchange, refusal: UserCodeRefused
    ) -> Reply:
        exchange.log.reason = str(refusal.reason)
        event, failure = request.protocol.event, refusal.event
        if failure is not None:
            event.error = failure.error
            event.details |= {failure.detail: failure.reason or ""}
        message = Message(LocalizedText(refusal.message))
        return await self._ask(request, "", message, refusal.status)

    async def _ask(
        self,
        request: BrowserRequest,
        user_code: str,
        message: Message | None = None,
        status: int = HTTPStatus.OK,
    ) -> Reply:
        action = verification_uri(request.protocol.issuer)
        view = DeviceCodePage(action=action, user_code=user_code, message=message)
        return await self._show(request, view, status)

    async def _show(
        self, request: BrowserRequest, view: View, status: int = HTTPStatus.OK
    ) -> Reply:
        realm, url = request.protocol.realm.realm, verification_uri(request.protocol.issuer)
        shown = url if isinstance(view, DeviceCodePage) else None
        return await self._pages.page(view, realm, request.preferences, status=status, url=shown)
