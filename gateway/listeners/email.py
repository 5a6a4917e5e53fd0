"""`email`: sends users a mail about each change of their accounts.

A mail goes to an address that its user has verified. An attack causes few mails, and none of them
keeps a mail back that a user asked for, or that says what was changed in the account.
Keycloak: 10.6; one change that is two events there is one mail here
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gateway.domain.events import Detail, EventType, UserEvent
from gateway.domain.mail import (
    EVENT_MAILS,
    Mail,
    MailKind,
    MailLimit,
    QueuedMail,
    limit_of,
    mail_time,
    user_mail,
)
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import User
from gateway.listeners.listener import ListenerOptions

NAME: Final = "email"
_TWINS: Final = {
    (EventType.UPDATE_CREDENTIAL, "password"): EventType.UPDATE_PASSWORD,
    (EventType.UPDATE_CREDENTIAL, "otp"): EventType.UPDATE_TOTP,
    (EventType.REMOVE_CREDENTIAL, "otp"): EventType.REMOVE_TOTP,
}
"""The event that is recorded with a change of a credential of that type."""
_WITH_TYPE: Final = frozenset({MailKind.EVENT_UPDATE_CREDENTIAL, MailKind.EVENT_REMOVE_CREDENTIAL})


class EmailListener:
    """Adds a row to the queue of mails."""

    def __init__(self, options: ListenerOptions) -> None:
        self._names = options.mailed_events

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        del failed
        return name in self._names and realm.smtp.host is not None

    async def queue(self, stores: Stores, events: Sequence[UserEvent]) -> None:
        realms: dict[str, Realm | None] = {}
        no_more: set[tuple[str, str, MailLimit]] = set()
        for event in events:
            limit = limit_of(EVENT_MAILS[event.name])
            owner = (event.realm_id, event.user_id or "", limit)
            if event.user_id is None or owner in no_more or self._has_twin(event):
                continue
            if event.realm_id not in realms:
                realms[event.realm_id] = await stores.realms.find_by_id(event.realm_id)
            realm = realms[event.realm_id]
            if realm is None or not await _add(stores, realm, event.user_id, event):
                no_more.add(owner)

    def _has_twin(self, event: UserEvent) -> bool:
        """Return whether the same change is an event of another name, which causes the mail."""
        twin = _TWINS.get((event.kind, event.details.get(Detail.CREDENTIAL_TYPE, "")))
        return twin is not None and twin.value in self._names


async def _add(stores: Stores, realm: Realm, user_id: str, event: UserEvent) -> bool:
    """Add the mail; return whether another one of its sort may follow."""
    user = await stores.users.find_by_id(realm.id, user_id)
    if user is None or not user.email or not user.email_verified:
        return False
    return await stores.mails.add(QueuedMail(_mail(realm, user, user.email, event), user.id))


def _mail(realm: Realm, user: User, address: str, event: UserEvent) -> Mail:
    """Return the mail; it has the id of the event, so that an event causes one."""
    kind = EVENT_MAILS[event.name]
    arguments: tuple[str, ...] = (mail_time(event.time), event.ip_address or "-")
    if kind in _WITH_TYPE:
        arguments = (event.details.get(Detail.CREDENTIAL_TYPE, "-"), *arguments)
    mail = user_mail(realm, user, address, kind, event.time)
    return replace(mail, id=event.id, arguments=arguments)
