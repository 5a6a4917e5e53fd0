"""The account console as the purpose of a sign-in: its pages, its client, and the way back."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Final

from gateway.authentication.validity import is_usable_client
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.lookups import ClientEntry, Directory, RealmEntry
from gateway.protocol.authorization import (
    PageError,
    PageMessage,
    SignInRequest,
    StoredRequestUnusable,
)
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import still_granted


class AccountPage(StrEnum):
    """A page by its path below `/realms/{realm}/account/`, Keycloak's where it has the page."""

    HOME = ""
    PERSONAL_INFO = "personal-info"
    SIGNING_IN = "account-security/signing-in"
    DEVICE_ACTIVITY = "account-security/device-activity"
    CERTIFICATES = "account-security/certificates"
    APPLICATIONS = "applications"
    GROUPS = "groups"


def account_page(path: str | None) -> AccountPage | None:
    """Return the page with that path, None for any other text."""
    return AccountPage(path) if path in set(AccountPage) else None


ACCOUNT_NOTE: Final = "account_page"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountVisit(SignInRequest):
    """The wanted page, and an action to perform before. Keycloak: 17.7 account console."""

    page: AccountPage

    def stored(self) -> Mapping[str, str]:
        """Return the visit as text by names; `restored_visit` reads it."""
        texts = {
            "client_id": self.client.client.client_id,
            ACCOUNT_NOTE: self.page.value,
            "kc_action": self.action,
            "kc_action_parameter": self.action_parameter,
        }
        return {name: text for name, text in texts.items() if text is not None}


@dataclass(frozen=True, slots=True)
class AccountResult:
    """The browser goes to a page. `action` and `status` say what became of the action, if any."""

    page: AccountPage
    action: str = ""
    status: str = ""
    """`kc_action_status`: success, cancelled or error."""


def account_result(stored: Mapping[str, str]) -> AccountResult | None:
    """Return where a stored visit leads, None for other requests and unknown pages."""
    page = account_page(stored.get(ACCOUNT_NOTE))
    return None if page is None else AccountResult(page)


def account_visit(
    realm: RealmEntry,
    client: ClientEntry,
    page: AccountPage,
    action: str | None = None,
    action_parameter: str | None = None,
) -> AccountVisit:
    """Return a visit with the client's default scopes."""
    scopes = still_granted(realm, client.client, ())
    return AccountVisit(
        client=client, scopes=scopes, page=page, action=action, action_parameter=action_parameter
    )


def restored_visit(
    stored: Mapping[str, str], realm: RealmEntry, client: ClientEntry
) -> AccountVisit:
    """Return the visit that `stored` was written from; raises StoredRequestUnusable."""
    page = account_page(stored.get(ACCOUNT_NOTE))
    if page is None or stored.get("client_id") != client.client.client_id:
        raise StoredRequestUnusable("the visit of another page or client")
    return account_visit(
        realm, client, page, stored.get("kc_action"), stored.get("kc_action_parameter")
    )


class ConsoleClients:
    """Finds the client of the console in every realm with an enabled client `account`.

    Users sign in to `account-console`, or else to `account`. Keycloak: 8.6 a new realm, 17.7
    account console
    """

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def find_usable_console(self, realm_id: str) -> ClientEntry | None:
        """Return the client, None where users have no console; raises StoreUnavailable."""
        account = await self._directory.client(realm_id, "account")
        if account is None or not is_usable_client(account):
            return None
        console = await self._directory.client(realm_id, "account-console") or account
        return console if is_usable_client(console) and _has_pages(console.client) else None

    async def find_console(self, request: ProtocolRequest) -> ClientEntry:
        """Return the client; raises PageError where it is disabled, and StoreUnavailable."""
        console = await self.find_usable_console(request.realm.realm.id)
        if console is None:
            raise _disabled(request)
        return console

    async def resume(self, request: ProtocolRequest, stored: Mapping[str, str]) -> AccountVisit:
        """Return the visit that a sign-in has stored; raises PageError and StoreUnavailable."""
        client = await self.find_console(request)
        try:
            return restored_visit(stored, request.realm, client)
        except StoredRequestUnusable as error:
            message, failure = PageMessage.expiredCodeMessage, EventError.EXPIRED_CODE
            raise PageError(
                message, event_error=failure, reason=str(error), client=client.client
            ) from error


def _has_pages(client: Client) -> bool:
    return not client.bearer_only and client.protocol == OPENID_CONNECT


def _disabled(request: ProtocolRequest) -> PageError:
    request.event.kind = EventType.LOGIN
    message, error = PageMessage.accountConsoleDisabledMessage, EventError.CLIENT_DISABLED
    return PageError(message, event_error=error, status=HTTPStatus.NOT_FOUND)
