"""The URLs that browsers open to sign in. Keycloak: 12.10, 12.12."""

from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute, Route

from gateway.domain.events import EventType
from gateway.http.realm_endpoint import RealmContext
from gateway.http.sign_in.action_token_pages import ActionTokenPages
from gateway.http.sign_in.action_urls import (
    ACTION_TOKEN,
    AUTHENTICATE,
    CONSENT,
    REGISTRATION,
    REQUIRED_ACTION,
    RESET_CREDENTIALS,
    RESTART,
)
from gateway.http.sign_in.authorization import AuthorizationHandler
from gateway.http.sign_in.browser_endpoint import BrowserEndpoint, BrowserHandler
from gateway.http.sign_in.device_pages import DevicePages
from gateway.http.sign_in.login_actions import LoginActions
from gateway.http.sign_in.page_replies import PageReplies

_REALM: Final = "/realms/{realm}"
_GET: Final = ("GET", "HEAD")
_FORM: Final = ("GET", "HEAD", "POST")
_DEVICE: Final = EventType.OAUTH2_DEVICE_VERIFY_USER_CODE


@dataclass(frozen=True, slots=True)
class SignInHandlers:
    """What answers the URLs, and what renders their pages."""

    authorization: AuthorizationHandler
    actions: LoginActions
    links: ActionTokenPages
    devices: DevicePages
    pages: PageReplies


def build_sign_in_routes(handlers: SignInHandlers, context: RealmContext) -> list[BaseRoute]:
    """Return the URLs of sign-ins."""
    actions = handlers.actions
    forms: tuple[tuple[str, BrowserHandler, tuple[str, ...]], ...] = (
        (AUTHENTICATE, actions.authenticate, _FORM),
        (REQUIRED_ACTION, actions.authenticate, _FORM),
        (CONSENT, actions.consent, _FORM),
        (REGISTRATION, actions.register, _FORM),
        (RESET_CREDENTIALS, actions.reset_credentials, _FORM),
        (RESTART, actions.restart, _GET),
    )
    own = [
        _route(f"{_REALM}/login-actions/{name}", handler, handlers, context, methods)
        for name, handler, methods in forms
    ]
    devices = handlers.devices
    own += [
        _route(f"{_REALM}/device", devices.code, handlers, context, _FORM, event=_DEVICE),
        _route(f"{_REALM}/device/status", devices.status, handlers, context, _GET, event=_DEVICE),
    ]
    begin = handlers.authorization
    begins: tuple[tuple[str, BrowserHandler], ...] = (
        ("auth", begin),
        ("registrations", begin.register),
        ("forgot-credentials", begin.reset_credentials),
    )
    own.append(
        _route(
            f"{_REALM}/login-actions/{ACTION_TOKEN}",
            handlers.links,
            handlers,
            context,
            _FORM,
            event=EventType.EXECUTE_ACTION_TOKEN,
        )
    )
    return [*(_beginning(name, each, handlers, context) for name, each in begins), *own]


def _beginning(
    name: str, handler: BrowserHandler, handlers: SignInHandlers, context: RealmContext
) -> Route:
    """Return an endpoint for requests of clients."""
    path = f"{_REALM}/protocol/openid-connect/{name}"
    endpoint = BrowserEndpoint(
        path, handler, context, handlers.pages, methods=_FORM, has_own_forms=False
    )
    return Route(path, endpoint)


def _route(
    path: str,
    handler: BrowserHandler,
    handlers: SignInHandlers,
    context: RealmContext,
    methods: tuple[str, ...],
    *,
    event: EventType = EventType.LOGIN,
) -> Route:
    endpoint = BrowserEndpoint(
        path, handler, context, handlers.pages, methods=methods, has_own_forms=True, event=event
    )
    return Route(path, endpoint)
