"""The client that users of the account console sign in to.

The console is there while the realm has an enabled client `account`, whose roles say what users
may do. Users sign in to `account-console`, or to `account` where the realm lacks that.
Keycloak: 8.6, 17.7
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from gateway.authentication.validity import is_usable_client
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.directory import ClientEntry, Directory
from gateway.protocol.account_console.visit import AccountVisit, restored_visit
from gateway.protocol.authorization import PageError, PageMessage, StoredRequestUnusable
from gateway.protocol.requests import ProtocolRequest

_ACCOUNT: Final = "account"
_CONSOLE: Final = "account-console"


class ConsoleClients:
    """Finds the client in every realm."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def find(self, request: ProtocolRequest) -> ClientEntry:
        """Return the client; raises PageError where it is disabled, and StoreUnavailable."""
        realm_id = request.realm.realm.id
        account = await self._directory.client(realm_id, _ACCOUNT)
        if account is None or not is_usable_client(account):
            raise _disabled(request)
        console = await self._directory.client(realm_id, _CONSOLE) or account
        if not is_usable_client(console) or not _has_pages(console.client):
            raise _disabled(request)
        return console

    async def resume(self, request: ProtocolRequest, stored: Mapping[str, str]) -> AccountVisit:
        """Return the visit that a sign-in has stored; raises PageError and StoreUnavailable."""
        client = await self.find(request)
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
    request.event.begin(EventType.LOGIN)
    message, error = PageMessage.accountConsoleDisabledMessage, EventError.CLIENT_DISABLED
    return PageError(message, event_error=error, status=HTTPStatus.NOT_FOUND)
