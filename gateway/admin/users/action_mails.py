"""Mails with links that administrators send to users. Keycloak: 7.2 (execute-actions-email)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from gateway.admin.access import Acting, InvalidRequest, MailFailed, existing, get_user
from gateway.admin.changes import Change, Changes
from gateway.authentication.action_tokens import new_action_token
from gateway.authentication.engine.proven_password import current_credentials_mark
from gateway.authentication.link_mails import LinkMail
from gateway.domain.authentication.action_tokens import ActionTokenKind
from gateway.domain.clients import Client
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import UPDATE_PASSWORD
from gateway.domain.mail import MailKind, MailNotSent, mail_server
from gateway.domain.ports.directory import Directory, RealmEntry
from gateway.domain.users import User

_OWN_CLIENT: Final = "account"
"""The client of a link that names none."""
_EXECUTE_ACTIONS: Final = "execute-actions-email"
_RESET_PASSWORD: Final = "reset-password-email"  # noqa: S105 - a part of a path
_VERIFY_EMAIL: Final = "send-verify-email"
_NOT_VERIFIED: Final = "Failed to send verify email"
_NOT_EXECUTED: Final = "Failed to send execute actions email: "


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """What an administrator asks for; `lifespan` is in seconds."""

    client_id: str | None = None
    redirect_uri: str | None = None
    lifespan: int | None = None


class UserActionMails:
    """Puts the mails into the queue.

    `issuer` returns the URL of a realm by its name. Methods raise NotFound, Forbidden,
    InvalidRequest, MailFailed where the realm cannot send or a limit is reached, and
    StoreUnavailable.
    """

    def __init__(
        self, changes: Changes, directory: Directory, issuer: Callable[[str], str]
    ) -> None:
        self._changes = changes
        self._directory = directory
        self._issuer = issuer

    async def execute_actions(
        self, acting: Acting, user_id: str, asked: LinkRequest, actions: Sequence[str]
    ) -> None:
        """Ask the user to perform required actions."""
        await self._send_actions(acting, user_id, asked, actions, _EXECUTE_ACTIONS)

    async def reset_password(self, acting: Acting, user_id: str, asked: LinkRequest) -> None:
        """Ask the user to set a new password."""
        await self._send_actions(acting, user_id, asked, [UPDATE_PASSWORD], _RESET_PASSWORD)

    async def verify_email(self, acting: Acting, user_id: str, asked: LinkRequest) -> None:
        """Ask the user to verify the address."""
        kinds = ActionTokenKind.VERIFY_EMAIL, MailKind.EMAIL_VERIFICATION
        async with self._changes.begin(acting) as change:
            try:
                await self._send(change, user_id, asked, kinds)
            except MailNotSent as failure:
                raise MailFailed(_NOT_VERIFIED, str(failure)) from failure
            change.record(
                OperationType.ACTION, ResourceType.USER, f"users/{user_id}/{_VERIFY_EMAIL}"
            )

    async def _send_actions(
        self, acting: Acting, user_id: str, asked: LinkRequest, actions: Sequence[str], path: str
    ) -> None:
        kinds = ActionTokenKind.EXECUTE_ACTIONS, MailKind.EXECUTE_ACTIONS
        wanted = tuple(dict.fromkeys(actions))
        async with self._changes.begin(acting) as change:
            try:
                await self._send(change, user_id, asked, kinds, wanted)
            except MailNotSent as failure:
                raise MailFailed(f"{_NOT_EXECUTED}{failure}", str(failure)) from failure
            change.record(OperationType.ACTION, ResourceType.USER, f"users/{user_id}/{path}")

    async def _send(
        self,
        change: Change,
        user_id: str,
        asked: LinkRequest,
        kinds: tuple[ActionTokenKind, MailKind],
        actions: tuple[str, ...] = (),
    ) -> None:
        """Queue the mail; raises MailNotSent."""
        user = await get_user(change.stores, change.realm.id, user_id)
        address = _require_reachable(user)
        issuer = self._issuer(change.realm.name)
        client = await _client(change, asked, issuer)
        lifespan = _lifespan(change, asked)
        found = existing(await self._directory.realm(change.realm.name), "Realm not found.")
        entry = replace(found, realm=change.realm)
        _require_offered(entry, actions)
        mail_server(change.realm.smtp)
        kind, mail_kind = kinds
        token = new_action_token(
            kind,
            user,
            client.client_id,
            change.now,
            lifespan,
            email=address,
            actions=actions,
            redirect_uri=asked.redirect_uri,
            credentials=await current_credentials_mark(change.stores, user) if actions else None,
        )
        mail = LinkMail(entry, issuer, user, address, mail_kind, token)
        try:
            failure = await mail.queue(change.stores, change.now)
        except ValueError as error:
            raise InvalidRequest("Invalid redirect uri.") from error
        if failure is not None:
            raise MailNotSent("the limit of mails to this user or of this realm is reached")


def _require_reachable(user: User) -> str:
    """Return the address of the user; raises InvalidRequest."""
    if not user.email:
        raise InvalidRequest("User email missing")
    if not user.enabled:
        raise InvalidRequest("User is disabled")
    return user.email


async def _client(change: Change, asked: LinkRequest, issuer: str) -> Client:
    """Return the client of the link; raises InvalidRequest."""
    if asked.redirect_uri is not None and asked.client_id is None:
        raise InvalidRequest("Client id missing")
    client_id = asked.client_id or _OWN_CLIENT
    client = await change.stores.clients.find_by_client_id(change.realm.id, client_id)
    if client is None:
        raise InvalidRequest("Client doesn't exist")
    if not client.enabled:
        raise InvalidRequest("Client is not enabled")
    base_url = issuer.rpartition("/realms/")[0]
    if asked.redirect_uri is not None and not client.redirects.match(asked.redirect_uri, base_url):
        raise InvalidRequest("Invalid redirect uri.")
    return client


def _lifespan(change: Change, asked: LinkRequest) -> timedelta:
    if asked.lifespan is None:
        return change.realm.token_lifespans.action_token_by_admin
    if asked.lifespan <= 0:
        raise InvalidRequest("Invalid lifespan")
    return timedelta(seconds=asked.lifespan)


def _require_offered(entry: RealmEntry, actions: tuple[str, ...]) -> None:
    """Raise InvalidRequest for an action that the realm does not have, or has disabled."""
    if not all(map(entry.sign_in.offers, actions)):
        raise InvalidRequest("Provided invalid required actions")
