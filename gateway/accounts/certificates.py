"""The client certificates with which the user has signed in, from the stored events.

They are known for as long as the realm keeps events, and only where it records sign-ins: sessions
and credentials store no certificate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.domain.events import (
    Detail,
    EventPage,
    EventType,
    UserEvent,
    UserEventQuery,
)
from gateway.domain.flows import CERTIFICATE, CERTIFICATE_FORM
from gateway.domain.ports.events import EventLog
from gateway.domain.ports.storage import Database

_BY_CERTIFICATE: Final = frozenset({CERTIFICATE, CERTIFICATE_FORM})
_MOST_EVENTS: Final = 1000
"""The latest sign-ins that are looked through."""


@dataclass(frozen=True, slots=True)
class SignInCertificate:
    """A certificate by serial number and names, and when and from where it was used."""

    serial: str
    subject: str
    issuer: str
    first_seen: datetime
    last_seen: datetime
    last_address: str
    sign_ins: int


class AccountCertificates:
    """The use case; it raises Forbidden and StoreUnavailable."""

    def __init__(self, database: Database, log: EventLog) -> None:
        self._database = database
        self._log = log

    @staticmethod
    def are_used(caller: AccountCaller) -> bool:
        """Tell whether a flow of the realm signs users in by a certificate."""
        steps = caller.entry.sign_in.every_step()
        return any(step.authenticator in _BY_CERTIFICATE for step in steps)

    async def list(self, caller: AccountCaller) -> tuple[SignInCertificate, ...]:
        """Return the certificates of the latest sign-ins, the one used last first."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)
        await self._log.settle()
        query = UserEventQuery(names=(EventType.LOGIN,), user_id=caller.user_id)
        async with self._database.read() as stores:
            page = EventPage(maximum=_MOST_EVENTS)
            found = await stores.user_events.page(caller.realm.id, query, page)
        by_names: dict[tuple[str, ...], list[UserEvent]] = {}
        for event in found:
            if Detail.X509_SUBJECT in event.details:
                by_names.setdefault(_names(event), []).append(event)
        return tuple(_seen(names, events) for names, events in by_names.items())


def _names(event: UserEvent) -> tuple[str, str, str]:
    details = event.details
    return (
        details.get(Detail.X509_SERIAL, ""),
        details[Detail.X509_SUBJECT],
        details.get(Detail.X509_ISSUER, ""),
    )


def _seen(names: tuple[str, ...], events: Sequence[UserEvent]) -> SignInCertificate:
    """Return the certificate of these events, the latest first."""
    serial, subject, issuer = names
    return SignInCertificate(
        serial,
        subject,
        issuer,
        first_seen=events[-1].time,
        last_seen=events[0].time,
        last_address=events[0].ip_address or "",
        sign_ins=len(events),
    )
