"""The page for each form that a sign-in asks for: one line of `_VIEWS` each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.domain.authentication import Challenge, FormName
from gateway.domain.realm import LoginSettings
from gateway.http.pages.views import (
    ClientDisplay,
    LoginPage,
    Message,
    MessageKind,
    OneTimeCodeDevice,
    OneTimeCodePage,
    PasswordPage,
    RequiredActionPage,
    Text,
    UsernameLabel,
    UsernamePage,
    View,
)

_ON: Final = "on"


@dataclass(frozen=True, slots=True)
class PagePlace:
    """The URL of the form, the link to start over, the client, the rules of the realm."""

    action: str
    restart_url: str
    client: ClientDisplay
    login: LoginSettings


def challenge_view(challenge: Challenge, place: PagePlace) -> View:
    """Return the page of a challenge."""
    return _VIEWS[challenge.form](challenge, place)


def _message(challenge: Challenge) -> Message | None:
    if challenge.message is None:
        return None
    kind = MessageKind.ERROR if challenge.is_error else MessageKind.INFO
    return Message(Text(challenge.message), kind)


def _label(login: LoginSettings) -> UsernameLabel:
    if login.registration_email_as_username:
        return UsernameLabel.EMAIL
    if login.login_with_email_allowed:
        return UsernameLabel.USERNAME_OR_EMAIL
    return UsernameLabel.USERNAME


def _login(challenge: Challenge, place: PagePlace) -> View:
    if challenge.username_fixed:
        return _password(challenge, place)
    return LoginPage(
        action=place.action,
        client=place.client,
        message=_message(challenge),
        username=challenge.fields.get("username", ""),
        username_label=_label(place.login),
        offers_remember_me=challenge.remember_me_offered,
        remember_me=challenge.fields.get("rememberMe") == _ON,
    )


def _username(challenge: Challenge, place: PagePlace) -> View:
    return UsernamePage(
        action=place.action,
        client=place.client,
        message=_message(challenge),
        username=challenge.fields.get("username", ""),
        username_label=_label(place.login),
        offers_remember_me=challenge.remember_me_offered,
        remember_me=challenge.fields.get("rememberMe") == _ON,
    )


def _password(challenge: Challenge, place: PagePlace) -> View:
    return PasswordPage(
        action=place.action,
        restart_url=place.restart_url,
        attempted_username=challenge.fields.get("username", ""),
        client=place.client,
        message=_message(challenge),
    )


def _code(challenge: Challenge, place: PagePlace) -> View:
    return OneTimeCodePage(
        action=place.action,
        restart_url=place.restart_url,
        attempted_username=challenge.fields.get("username", ""),
        devices=tuple(OneTimeCodeDevice(each.id, each.label) for each in challenge.devices),
        selected_device=challenge.selected_device or "",
        client=place.client,
        message=_message(challenge),
    )


def _action(challenge: Challenge, place: PagePlace) -> View:
    return RequiredActionPage(
        actions=(challenge.required_action or "",),
        restart_url=place.restart_url,
        client=place.client,
    )


_VIEWS: Final[Mapping[FormName, Callable[[Challenge, PagePlace], View]]] = {
    FormName.USERNAME_PASSWORD: _login,
    FormName.USERNAME: _username,
    FormName.PASSWORD: _password,
    FormName.ONE_TIME_CODE: _code,
    FormName.REQUIRED_ACTION: _action,
}
