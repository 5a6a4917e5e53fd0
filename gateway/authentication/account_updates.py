"""Updates of a user's own account, one transaction each, and the notice of a changed address."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from gateway.authentication.errors import (
    AccountDisabled,
    InvalidUserCredentials,
    TooManyCredentials,
)
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import EventError
from gateway.domain.mail import MailKind, QueuedMail, can_send_mails, mail_time, user_mail
from gateway.domain.ports.invalidation import Invalidation, user_topic
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.users import MOST_CREDENTIALS, Credential, User


@dataclass(frozen=True, slots=True)
class AccountUpdate:
    """A transaction with the row of the user locked."""

    stores: Stores
    user: User
    now: datetime

    async def add_credential(self, credential: Credential) -> Credential:
        """Store a new credential of the user, and return it; raises TooManyCredentials."""
        users, realm_id = self.stores.users, self.user.realm_id
        if len(await users.credentials(realm_id, self.user.id)) >= MOST_CREDENTIALS:
            raise TooManyCredentials
        stored = replace(credential, set_at=self.now)
        await users.set_credential(realm_id, stored)
        return stored

    async def replace(self, user: User, *, performed: str | None = None) -> None:
        """Store the user; `performed` is the alias of a required action that is done."""
        left = tuple(alias for alias in user.required_actions if alias != performed)
        after = replace(user, required_actions=left)
        if after != self.user:
            await self.stores.users.replace(after)


class AccountUpdates:
    """Opens the transactions.

    Gateways remove the user from their caches once it is committed.
    """

    def __init__(self, database: Database, invalidation: Invalidation, clock: Clock) -> None:
        self._database = database
        self._invalidation = invalidation
        self._clock = clock

    @asynccontextmanager
    async def begin_update(self, realm_id: str, user_id: str) -> AsyncIterator[AccountUpdate]:
        """Open the transaction of a change.

        Raises InvalidUserCredentials for a user who was removed meanwhile, AccountDisabled for one
        who was disabled or locked for good, and StoreUnavailable.
        """
        topic = user_topic(realm_id, user_id)
        async with self._database.write() as stores:
            user = await stores.users.get_for_update(realm_id, user_id)
            if user is None:
                raise InvalidUserCredentials(EventError.USER_NOT_FOUND)
            if not user.enabled:
                raise AccountDisabled(user.id)
            yield AccountUpdate(stores, user, self._clock.now())
            await stores.change_log.record([topic])
        with suppress(StoreUnavailable):  # the others read the log of changes
            await self._invalidation.publish([topic])


async def notify_previous_address(update: AccountUpdate, realm: Realm, after: User) -> None:
    """Queue the mail where the address has changed, and the realm has a mail server.

    Beyond the limit of such mails one mail at the end of the hour names all further changes.

    An attacker with the account must not move it to another mailbox unnoticed. The mail is queued
    in the transaction of the change, in the language that the user had before, and does not name
    the new address. docs/registration-and-recovery.md#changes-of-an-address
    """
    before, now = update.user, update.now
    if before.email is None or before.email == after.email or not can_send_mails(realm):
        return
    mail = user_mail(realm, before, before.email, MailKind.EMAIL_CHANGED, now)
    notice = replace(mail, arguments=(mail_time(now),))
    await update.stores.mails.add(QueuedMail(notice, before.id))
