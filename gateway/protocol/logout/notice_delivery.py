"""Sends the notices of ended sessions to clients, as often as it takes within bounds.

A notice is in the queue until a client has confirmed it, so it may come twice: a gateway may be
killed between the two. Clients accept that, the session of theirs is over either way.
Spec: OpenID Connect Back-Channel Logout §2.5, §2.8
"""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.deliveries import FailedDelivery
from gateway.domain.logout_notices import LogoutNotice
from gateway.domain.ports.client_encryption import ClientEncrypters
from gateway.domain.ports.directory import Directory, RealmEntry
from gateway.domain.ports.outgoing.remote_documents import NoticeNotReceived, NoticeSender
from gateway.domain.ports.storage import Database
from gateway.protocol.errors import OAuthError
from gateway.protocol.logout.logout_tokens import logout_token
from gateway.protocol.tokens import encrypt_id_token, id_token_encrypter

LEASE: Final = timedelta(seconds=15)
"""Longer than one attempt takes: then the notice of a worker that died is due again."""


class NoticeDelivery:
    """Deliveries of notices.

    `issuer` returns the issuer of a realm by its name.
    """

    def __init__(
        self,
        database: Database,
        directory: Directory,
        sender: NoticeSender,
        clock: Clock,
        issuer: Callable[[str], str],
        *,
        encryption: ClientEncrypters,
    ) -> None:
        self._database = database
        self._directory = directory
        self._sender = sender
        self._clock = clock
        self._issuer = issuer
        self._encryption = encryption

    async def claim(self, most: int, busy: Collection[str] = ()) -> tuple[LogoutNotice, ...]:
        now = self._clock.now()
        async with self._database.read() as stores:
            if not await stores.logout_notices.has_due(now, busy):
                return ()
        async with self._database.write() as stores:
            return await stores.logout_notices.claim(now, LEASE, most, busy)

    async def deliver(self, claimed: LogoutNotice) -> FailedDelivery | None:
        notice = claimed
        async with self._database.read() as stores:
            client = await stores.clients.find_by_id(notice.realm_id, notice.client)
            name = await stores.realms.find_name(notice.realm_id)
        realm = None if name is None else await self._directory.realm(name)
        if client is None or realm is None or not client.logout.back_channel_url:
            await self._settle(notice, None)
            return None
        try:
            await self._send(realm, client, notice)
        except (NoticeNotReceived, LookupError, OAuthError) as failure:
            again = notice.next_attempt_at(self._clock.now())
            await self._settle(notice, again)
            return FailedDelivery(
                realm_id=notice.realm_id,
                subject=client.client_id,
                attempts=notice.attempts,
                reason=str(failure),
                is_last=again is None,
            )
        await self._settle(notice, None)
        return None

    async def _send(self, realm: RealmEntry, client: Client, notice: LogoutNotice) -> None:
        issuer = self._issuer(realm.realm.name)
        encrypter = await id_token_encrypter(self._encryption, client)
        signed = logout_token(realm, issuer, client, notice, self._clock.now())
        token = encrypt_id_token(client, encrypter, signed)
        await self._sender.send(client.logout.back_channel_url, token)

    async def _settle(self, notice: LogoutNotice, due_at: datetime | None) -> None:
        """Remove the notice, or let it be due again."""
        async with self._database.write() as stores:
            if due_at is None:
                await stores.logout_notices.remove(notice)
            else:
                await stores.logout_notices.postpone(notice, due_at)
