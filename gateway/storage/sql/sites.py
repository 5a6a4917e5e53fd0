"""Protected sites: one JSON document each, and a row for each host.

Every way of storing a site passes `put_site`, which alone decides who may have a host: one site
has a host, one realm has its name whatever the port, and no realm has a name of the rules file.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Text, and_, func, or_, select, type_coerce

from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.forward_auth import ReservedNames, Site, UnreadableSite, share_cookies
from gateway.domain.hosts import RULES_FILE, WILDCARD, HostOwners, without_port
from gateway.domain.limits.caches import cached
from gateway.domain.limits.input_sizes import in_slices
from gateway.storage.documents import DocumentCodec, UnreadableDocument
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import realms, site_hosts, sites
from gateway.storage.sql.transaction import Transaction

_CODEC: Final = DocumentCodec(Site, ("name", "realms"))
_PARSED_BYTES: Final = 16 * 1024 * 1024
_LOCK: Final = 0x7265616C_6D676174
"""Of PostgreSQL: transactions that take hosts come one after the other."""
_TEXT: Final = type_coerce(sites.c.document, Text).label(sites.c.document.key)
_WITH_COOKIE_DOMAIN: Final = '"cookie_domain":"'
"""In the text of a site with a cookie domain, which is compact JSON."""
_WITH_REALM: Final = select(
    sites.c.realm_id, sites.c.name, _TEXT, realms.c.name.label("realm")
).join(realms)


class SqlSites:
    """SiteRepository on SQL; `parse` is made by `site_parser`, reserved names get no realm."""

    def __init__(
        self,
        transaction: Transaction,
        reserved_names: Callable[[], ReservedNames],
        parse: Callable[[str, str, str], Site],
    ) -> None:
        self._transaction = transaction
        self._reserved_names = reserved_names
        self._parse = parse

    async def all(self) -> Mapping[str, tuple[Site, ...]]:
        found: defaultdict[str, list[Site]] = defaultdict(list)
        rows = await self._transaction.execute(_WITH_REALM.order_by(realms.c.name, sites.c.name))
        async for row in in_slices(rows):
            site = self._read_or_report(row)
            if site is not None:
                found[row.realm_id].append(site)
        return {realm_id: tuple(of_realm) for realm_id, of_realm in found.items()}

    async def protected(self, realm_id: str | None = None) -> Mapping[str, tuple[Site, ...]]:
        found: defaultdict[str, list[Site]] = defaultdict(list)
        chosen = _of_realms(realm_id).order_by(realms.c.name, sites.c.name)
        async for row in in_slices(await self._transaction.execute(chosen)):
            site = self._read_or_report(row)
            found[row.realm_id].append(await self._refusing(row) if site is None else site)
        return {of_realm: tuple(listed) for of_realm, listed in found.items()}

    async def _refusing(self, row: Any) -> Site:
        """Return a site with the hosts of the row's site and no rule."""
        own = and_(site_hosts.c.realm_id == row.realm_id, site_hosts.c.site == row.name)
        hosts = await self._transaction.read_rows(
            select(site_hosts.c.host).where(own).order_by(site_hosts.c.host), lambda each: each.host
        )
        return Site(row.name, hosts, (row.realm,), rules=())

    async def list_sites(self, realm_id: str) -> tuple[Site, ...]:
        of_realm = _WITH_REALM.where(sites.c.realm_id == realm_id)
        found = await self._transaction.read_rows(
            of_realm.order_by(sites.c.name), self._read_or_report
        )
        return tuple(site for site in found if site is not None)

    async def list_unreadable(self, realm_id: str | None = None) -> tuple[UnreadableSite, ...]:
        chosen = _of_realms(realm_id).order_by(realms.c.name, sites.c.name)
        found = await self._transaction.read_rows(chosen, self._read)
        return tuple(site for site in found if isinstance(site, UnreadableSite))

    async def find_site(self, realm_id: str, name: str) -> Site | UnreadableSite | None:
        if not is_name(name):
            return None
        one = _WITH_REALM.where(sites.c.realm_id == realm_id, sites.c.name == name)
        return await self._transaction.first(one, self._read)

    def _read(self, row: Any) -> Site | UnreadableSite:
        try:
            return self._parse(row.document, row.name, row.realm)
        except (UnreadableDocument, InvalidInput) as refusal:
            return UnreadableSite(row.name, row.realm, str(refusal))

    def _read_or_report(self, row: Any) -> Site | None:
        found = self._read(row)
        if isinstance(found, Site):
            return found
        import structlog  # noqa: PLC0415 - 40 ms of a command, which seldom logs

        structlog.get_logger().error(
            "site cannot be read", realm=found.realm, site=found.name, reason=found.reason
        )
        return None

    async def put_site(self, realm_id: str, site: Site) -> None:
        reserved = self._reserved_names()
        await self._require_free_hosts(realm_id, site, reserved.hosts)
        if site.cookie_domain is not None:
            await self._require_free_domain(realm_id, site, site.cookie_domain, reserved)
        row = {"realm_id": realm_id, "name": site.name, "document": _CODEC.encode(site)}
        await self._transaction.put_row(sites, row, ("realm_id", "name"))
        await self._transaction.delete_rows(site_hosts, realm_id=realm_id, site=site.name)
        rows = [{"host": host, "realm_id": realm_id, "site": site.name} for host in site.hosts]
        await self._transaction.insert(
            site_hosts, rows, taken="A host of the site belongs to another site"
        )

    async def remove_site(self, realm_id: str, name: str) -> bool:
        return await self._transaction.delete_rows(sites, realm_id=realm_id, name=name) > 0

    async def _require_free_hosts(self, realm_id: str, site: Site, reserved: HostOwners) -> None:
        """Raise AlreadyExists for a host that is not free for the site.

        Uniqueness of names beyond ports and below wildcards is no key of a table. So one
        transaction at a time takes hosts; SQLite has one writer in any case.
        """
        if self._transaction.dialect != "sqlite":
            await self._transaction.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        related = select(site_hosts).where(or_(*_related(site.hosts)))
        rows = (await self._transaction.execute(related.order_by(site_hosts.c.host))).all()
        of_others = {row.host for row in rows if (row.realm_id, row.site) != (realm_id, site.name)}
        of_realms = HostOwners((row.host, row.realm_id) for row in rows)
        for host in site.hosts:
            owners = reserved.owners(host)
            if RULES_FILE in owners:
                raise AlreadyExists(f"Host {host} belongs to a site of the rules file")
            if owners:
                raise AlreadyExists(f"Host {host} belongs to the gateway, under any port")
            if host in of_others:
                raise AlreadyExists(f"Host {host} belongs to another site")
            if of_realms.owners(host) - {realm_id}:
                raise AlreadyExists(f"Host {host} belongs to another realm, under any port")

    async def _require_free_domain(
        self, realm_id: str, site: Site, domain: str, reserved: ReservedNames
    ) -> None:
        """Raise AlreadyExists for a cookie domain of which another realm has a part.

        Both have a session cookie of one name, so each would end the sessions of the other.
        """
        of_others = select(sites.c.document).where(
            sites.c.realm_id != realm_id, _TEXT.contains(_WITH_COOKIE_DOMAIN)
        )
        taken = list(
            await self._transaction.read_rows(
                of_others, lambda row: str(row.document["cookie_domain"])
            )
        )
        taken += [each for each, realm in reserved.cookie_domains if realm != site.realms[0]]
        if any(share_cookies(domain, other) for other in taken):
            raise AlreadyExists(
                f"Cookie domain {domain} belongs to another realm, or one above or below it does"
            )


def _of_realms(realm_id: str | None) -> Select[Any]:
    return _WITH_REALM if realm_id is None else _WITH_REALM.where(sites.c.realm_id == realm_id)


def _related(hosts: Sequence[str]) -> Iterator[ColumnElement[bool]]:
    """Yield conditions for all hosts that may have a name in common with these, and few others."""
    column, names = site_hosts.c.host, sorted(set(map(without_port, hosts)))
    yield column.in_(names)
    yield column.startswith(WILDCARD)
    for name in names:
        yield column.startswith(f"{name}:")
        if name.startswith(WILDCARD):
            below = name.removeprefix("*")
            yield column.endswith(below)
            yield column.contains(f"{below}:")


def site_parser(check: Callable[[Site], Site]) -> Callable[[str, str, str], Site]:
    """Return the function for the site of a document, its name and its realm.

    `check` raises InvalidInput for a site with contradictions, which another version may have
    stored. Sites are cached: every change of a realm reads its sites again, mostly the same ones.
    """

    def parse(text: str, name: str, realm: str) -> Site:
        return check(_CODEC.decode(json.loads(text), name=name, realms=(realm,)))

    return cached(_PARSED_BYTES)(parse)
