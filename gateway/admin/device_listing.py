"""The devices of a realm: client certificates that were presented and trusted, and their states.

A certificate is listed with the device that it names under the template of its client. Whether it
is revoked is looked up in the lists that its own issuer has signed; a list that cannot be read, or
a revoked intermediate, does not show here, but counts when the certificate is used.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from gateway.domain.certificates import IssuedSerial, PresentedCertificate
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.distinguished_names import DistinguishedName, parse_distinguished_name
from gateway.domain.expiry import MOST_SEEN, SeenCertificate
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.certificates import MOST_LISTED, DeviceLocks
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import MASTER, Realm
from gateway.representations.certificates import render_seen_certificate

_SPIFFE: Final = "spiffe://"


class DeviceState(StrEnum):
    """What a gateway would say of the certificate now; the first that is true, in this order."""

    REVOKED = "revoked"
    DENIED = "denied"
    LOCKED = "locked"
    EXPIRED = "expired"
    GOOD = "good"


class IssuerRevocations(Protocol):
    """The revocation lists that count in a realm."""

    async def lists_serial(
        self, issuer: DistinguishedName, serial: int, realm: Realm, now: datetime
    ) -> bool:
        """Return whether a list of an authority of that name has the serial number."""


@dataclass(frozen=True, slots=True)
class ListedDevice:
    """A certificate; `device` is None where its client has no template, or none that it fits."""

    certificate: SeenCertificate
    device: str | None
    state: DeviceState

    @property
    def spiffe_id(self) -> str | None:
        uris = self.certificate.alternative_names.get("uri", ())
        return next((uri for uri in uris if uri.startswith(_SPIFFE)), None)


@dataclass(frozen=True, slots=True)
class DeviceQuery:
    """What is listed: of one client, with a part of a name, and in one state."""

    client: str | None = None
    part: str = ""
    state: DeviceState | None = None


class DeviceListing:
    """The use case. Raises StoreUnavailable."""

    def __init__(
        self, database: Database, locks: DeviceLocks, revocations: IssuerRevocations, clock: Clock
    ) -> None:
        self._database = database
        self._locks = locks
        self._revocations = revocations
        self._clock = clock

    async def list_devices(
        self, realm: Realm, query: DeviceQuery, first: int, maximum: int
    ) -> tuple[ListedDevice, ...]:
        """Return a page of the devices, those that were seen last first."""
        now = self._clock.now()
        # A state is looked up for each: without it no more than the page is.
        most = MOST_SEEN if query.state is not None else min(first + maximum, MOST_SEEN)
        async with self._database.read() as stores:
            seen = await stores.seen_certificates.list_of_realm(
                realm.id, query.client, query.part, most
            )
            if query.state is None:
                seen = seen[first:]
            names = sorted({each.client for each in seen if each.client is not None})
            clients = {each.client_id: each for each in await stores.clients.named(realm.id, names)}
            denied = await _denied_identities(stores, realm, now)
        devices = {each.id: _device(each, clients) for each in seen}
        locked = await self._locked(realm, seen, clients, devices, now)
        found: list[ListedDevice] = []
        async for each in in_slices(seen):
            state = await self._state(each, realm, denied, is_locked=each.id in locked, now=now)
            if query.state in {None, state}:
                found.append(ListedDevice(each, devices[each.id], state))
        return tuple(found if query.state is None else found[first : first + maximum])

    async def _state(
        self,
        seen: SeenCertificate,
        realm: Realm,
        denied: frozenset[str],
        *,
        is_locked: bool,
        now: datetime,
    ) -> DeviceState:
        issuer = _name(seen.issuer)
        if seen.serial is not None and issuer is not None:
            if await self._revocations.lists_serial(issuer, seen.serial, realm, now):
                return DeviceState.REVOKED
            if IssuedSerial(issuer, seen.serial).digest in denied:
                return DeviceState.DENIED
        if seen.id in denied:
            return DeviceState.DENIED
        if is_locked:
            return DeviceState.LOCKED
        return DeviceState.EXPIRED if seen.expires_at <= now else DeviceState.GOOD

    async def _locked(
        self,
        realm: Realm,
        seen: Iterable[SeenCertificate],
        clients: Mapping[str, Client],
        devices: Mapping[str, str | None],
        now: datetime,
    ) -> frozenset[str]:
        """Return the ids of certificates whose device is locked."""
        by_client: dict[str, list[tuple[str, str]]] = {}
        for each in seen:
            device = devices[each.id]
            if each.client is not None and device is not None:
                by_client.setdefault(each.client, []).append((each.id, device))
        found: set[str] = set()
        for client_id, named in by_client.items():
            client = clients[client_id].id
            locks = await self._locks.list_locks(realm.id, client, now)
            names = {lock.device for lock in locks}
            for identity, device in named:
                # A long list of locks is cut off: then each device is looked up.
                if device in names or (
                    len(locks) >= MOST_LISTED
                    and await self._locks.is_locked(realm.id, client, device, now)
                ):
                    found.add(identity)
        return frozenset(found)


def render_device(found: ListedDevice) -> dict[str, Any]:
    """Return the JSON object."""
    return render_seen_certificate(
        found.certificate,
        device=found.device,
        spiffe_id=found.spiffe_id,
        state=found.state.value,
    )


async def list_subjects(database: Database, realm: Realm, ids: Sequence[str]) -> Mapping[str, str]:
    """Return subjects of certificates that were seen, by thumbprint; raises StoreUnavailable."""
    async with database.read() as stores:
        return await stores.seen_certificates.subjects(realm.id, ids)


async def _denied_identities(stores: Stores, realm: Realm, now: datetime) -> frozenset[str]:
    """Return the entries of the realm and of master that count now."""
    master = await stores.realms.find_by_name(MASTER)
    ids = {realm.id, *(() if master is None else (master.id,))}
    found: set[str] = set()
    for realm_id in sorted(ids):
        for entry in await stores.denied_certificates.identities(realm_id):
            if entry.expires_at is None or now < entry.expires_at:
                found.add(entry.id)
    return frozenset(found)


def _device(seen: SeenCertificate, clients: Mapping[str, Client]) -> str | None:
    client = None if seen.client is None else clients.get(seen.client)
    template = None if client is None else client.devices.template
    if template is None:
        return None
    leaf = PresentedCertificate(
        issuer=DistinguishedName(),
        subject=_name(seen.subject) or DistinguishedName(),
        serial=seen.serial or 0,
        not_before=seen.begins_at,
        not_after=seen.expires_at,
        digest=b"",
        der=b"",
        issued_serial="",
        legacy_subject="",
        legacy_issuer="",
        emails=seen.alternative_names.get("email", ()),
        dns_names=seen.alternative_names.get("dns", ()),
        uris=seen.alternative_names.get("uri", ()),
    )
    found = () if template.ambiguity(leaf) is not None else template.devices(leaf)
    return found[0].name if len(found) == 1 else None


def _name(text: str) -> DistinguishedName | None:
    """Return the name; None for one that was shortened."""
    try:
        return parse_distinguished_name(text)
    except ValueError:
        return None
