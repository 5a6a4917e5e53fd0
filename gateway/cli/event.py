"""`realmgate event`: the recorded events of users and clients, and those of administrators.

Events of the workers of this machine are stored before a list is read; those of other machines
arrive within two seconds.
"""

import asyncio
import json
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from gateway.cli import collect_garbage_often
from gateway.cli.administration import (
    RealmOperator,
    confirm_removal,
    on_realm,
    output_option,
    page_options,
    yes_option,
)
from gateway.cli.object_commands import add_object_commands
from gateway.cli.output import instant_text, show_rows

if TYPE_CHECKING:
    from gateway.domain.events import EventPage, Period
    from gateway.domain.ports.storage import Stores
    from gateway.domain.realm import Realm

_MOST: Final = 10_000
_STANDARD: Final = 100
_FIRST_OF_FOLLOWED: Final = 10
_PAUSE: Final = 1.0
"""Seconds between two reads of `--follow`."""
_LATE: Final = timedelta(seconds=10)
"""How much later than its time an event of another machine may be stored."""
_AGO: Final = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

Document = dict[str, Any]
ReadPage = Callable[["Period", "EventPage"], Awaitable[list[Document]]]


class InstantType(click.ParamType[datetime]):
    """A day, an instant with its zone, or a time ago such as `90s`, `15m`, `2h` or `7d`."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        found = _instant_of(str(value))
        if found is None:
            allowed = "a day (2026-11-28), an instant (2026-11-28T09:30:00Z), or a time ago (15m)"
            self.fail(f"{value!r} is not {allowed}", param, ctx)
        return found


def _instant_of(text: str) -> datetime | None:
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        if len(text) == len("2026-11-28"):
            return datetime.combine(date.fromisoformat(text), time(), UTC)
        found = datetime.fromisoformat(text)
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


@click.group()
def event() -> None:
    """List, follow and delete events; change what is recorded."""


_instants = InstantType()


@event.command("list", short_help="List the events of users and clients, or of administrators.")
@on_realm
@click.option("--admin", is_flag=True, help="List the events of administrators.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Type, such as LOGIN_ERROR; with --admin CREATE, UPDATE, DELETE or ACTION. Repeatable.",
)
@click.option(
    "--user", "name", metavar="USER", help="User who signed in; with --admin the administrator."
)
@click.option("--client", metavar="CLIENT", help="Client; with --admin the administrator's.")
@click.option("--ip", metavar="ADDRESS", help="Address of the browser or client.")
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="TYPE",
    help="With --admin: type of the changed object, such as CLIENT. Repeatable.",
)
@click.option("--path", metavar="PATH", help="With --admin: path of the object; * is any text.")
@click.option(
    "--since", type=_instants, help="Begin: a day, an instant, or a time ago such as 15m or 7d."
)
@click.option("--until", type=_instants, help="End, which is not included; as --since.")
@click.option("--oldest-first", is_flag=True, help="Begin with the oldest event.")
@click.option("--follow", is_flag=True, help="Go on with new events until Ctrl-C.")
@page_options("events", _MOST, f"{_STANDARD}; with --follow {_FIRST_OF_FOLLOWED}")
@output_option
async def list_(
    operator: RealmOperator,
    *,
    first: int,
    maximum: int | None,
    since: datetime | None,
    until: datetime | None,
    oldest_first: bool,
    follow: bool,
    output: str,
    **filters: Any,
) -> None:
    """List events, the newest first; with --follow the last ones and every new one as it comes.

    Events are recorded where the realm says so: see `event config`. With --output json and
    --follow, each event is one line.
    """
    from gateway.domain.events import EventPage, Period

    log = _Log(operator, admin=filters.pop("admin"))
    read = await log.reader(**filters)
    log.warn_if_off()
    if follow:
        if until is not None or oldest_first or first:
            raise click.UsageError("--follow has no --until, --oldest-first and --first.")
        if since is not None and maximum is not None:
            raise click.UsageError("--follow with --since shows all events: it has no --max.")
        shown = maximum or _FIRST_OF_FOLLOWED
        collect_garbage_often()
        pages = followed_events(read, operator.services.clock.now, since, shown)
        with suppress(asyncio.CancelledError):  # Ctrl-C
            async for found in pages:
                await log.show_followed(found, output)
        return
    page = EventPage(first, maximum or _STANDARD, newest_first=not oldest_first)
    found = await read(Period(since, until), page)
    if output == "json":
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    show_rows(await log.rows(found))


@event.command(short_help="Delete the recorded events.")
@on_realm
@click.option("--admin", is_flag=True, help="Delete the events of administrators.")
@yes_option
async def clear(operator: RealmOperator, *, admin: bool, yes: bool) -> None:
    """Delete all recorded events of users and clients, or of administrators."""
    what = "events of administrators" if admin else "events of users and clients"
    confirm_removal(f"all {what} of {operator.acting.realm.name}", yes=yes)
    events = operator.events
    await (events.clear_admin_events if admin else events.clear_user_events)(operator.acting)
    click.echo(f"{what}: removed")


@dataclass(frozen=True, slots=True)
class _Log:
    """One of the two logs of a realm."""

    operator: RealmOperator
    admin: bool

    async def reader(
        self,
        *,
        types: tuple[str, ...],
        resources: tuple[str, ...],
        name: str | None,
        client: str | None,
        ip: str | None,
        path: str | None,
    ) -> ReadPage:
        """Return the function that reads a page of the events that match."""
        from gateway.domain.events import (
            ALL_NAMES,
            AdminEventQuery,
            OperationType,
            ResourceType,
            UserEventQuery,
        )

        events, realm = self.operator.events, self.operator.acting.realm
        if self.admin:
            admin_query = AdminEventQuery(
                operations=_known(types, OperationType, "--type"),
                resources=_known(resources, ResourceType, "--resource"),
                resource_path=path,
                auth_client=None if client is None else await self._administrating_clients(client),
                auth_user_id=None if name is None else await self._administrators(name),
                ip_address=ip,
            )
            return lambda period, page: events.list_admin_events(
                realm, replace(admin_query, period=period), page
            )
        if resources or path is not None:
            raise click.UsageError("--resource and --path are for --admin.")
        query = UserEventQuery(
            names=_known(types, ALL_NAMES, "--type"),
            client_id=client,
            user_id=None if name is None else await self._user_id(name),
            ip_address=ip,
        )
        return lambda period, page: events.list_user_events(
            realm, replace(query, period=period), page
        )

    async def _user_id(self, name: str) -> str:
        """Return the id of a user, who may have been deleted where an id was given."""
        if _ID.fullmatch(name):
            return name
        return (await self.operator.user(name)).id

    async def _administrators(self, name: str) -> tuple[str, ...]:
        """Return the ids of the administrators of that name, in the realm and in master."""
        from gateway.domain.users import canonical_name

        if _ID.fullmatch(name):
            return (name,)
        async with self.operator.services.database.read() as stores:
            found = [
                await stores.users.find_by_username(realm.id, canonical_name(name))
                for realm in await self._administering_realms(stores)
            ]
        ids = tuple(user.id for user in found if user is not None)
        return ids or ((await self.operator.user(name)).id,)

    async def _administrating_clients(self, client_id: str) -> tuple[str, ...]:
        """Return the ids of the clients of that name, in the realm and in master."""
        if _ID.fullmatch(client_id):
            return (client_id,)
        async with self.operator.services.database.read() as stores:
            found = [
                await stores.clients.find_by_client_id(realm.id, client_id)
                for realm in await self._administering_realms(stores)
            ]
        ids = tuple(client.id for client in found if client is not None)
        return ids or ((await self.operator.client(client_id)).id,)

    async def _administering_realms(self, stores: "Stores") -> "list[Realm]":
        from gateway.domain.realm import MASTER

        master = await stores.realms.find_by_name(MASTER)
        own = self.operator.acting.realm
        return [own, *([] if master is None or master.id == own.id else [master])]

    def warn_if_off(self) -> None:
        """Say on standard error where the realm records no such events."""
        events, realm = self.operator.acting.realm.events, self.operator.acting.realm.name
        field = "adminEventsEnabled" if self.admin else "eventsEnabled"
        if not (events.admin_enabled if self.admin else events.enabled):
            words = ("realmgate", "event", "config", "update", "--realm", realm)
            command = shlex.join((*words, "--set", f"{field}=true"))
            click.echo(f"{realm} does not record these events: {command}", err=True)

    async def show_followed(self, found: list[Document], output: str) -> None:
        """Print events at once; as JSON one a line."""
        if output == "json":
            for item in found:
                click.echo(json.dumps(item, ensure_ascii=False))
        else:
            show_rows(await self.rows(found))

    async def rows(self, found: Iterable[Document]) -> list[tuple[str, ...]]:
        """Return the columns of events."""
        names: dict[str, str] = {}
        for item in found:
            realm_id, user_id = _user_of(item)
            if user_id is not None and user_id not in names:
                names[user_id] = await self._name(realm_id, user_id)
        return [_admin_row(item, names) if self.admin else _row(item, names) for item in found]

    async def _name(self, realm_id: str, user_id: str) -> str:
        async with self.operator.services.database.read() as stores:
            user = await stores.users.find_by_id(realm_id, user_id)
        return user_id if user is None else user.username


def _user_of(item: Document) -> tuple[str, str | None]:
    """Return realm and id of the user who signed in, or of the administrator."""
    auth = item.get("authDetails") or {}
    if "authDetails" in item:
        return auth.get("realmId") or "", auth.get("userId")
    return item["realmId"], item.get("userId")


def _row(item: Document, names: Mapping[str, str]) -> tuple[str, ...]:
    details = item.get("details") or {}
    user = names.get(item.get("userId") or "") or details.get("username", "")
    others = {name: text for name, text in details.items() if name != "username"}
    if item.get("error"):
        others = {"error": item["error"], **others}
    return (
        _instant(item),
        item["type"],
        user,
        item.get("clientId") or "",
        item.get("ipAddress") or "",
        " ".join(f"{name}={text}" for name, text in others.items()),
    )


def _admin_row(item: Document, names: Mapping[str, str]) -> tuple[str, ...]:
    _, by = _user_of(item)
    return (
        _instant(item),
        item["operationType"],
        item["resourceType"],
        item.get("resourcePath") or "",
        "the shell" if by is None else names[by],
        (item.get("authDetails") or {}).get("ipAddress") or "",
    )


def _instant(item: Document) -> str:
    return instant_text(datetime.fromtimestamp(item["time"] / 1000, UTC))


def _known(given: Iterable[str], known: Iterable[str], option: str) -> tuple[str, ...]:
    """Return the names in capitals; raises BadParameter for one that does not exist."""
    from gateway.representations.refusals import suggestion

    names = tuple(known)
    found = tuple(dict.fromkeys(text.upper().replace("-", "_") for text in given))
    for text in found:
        if text not in names:
            raise click.BadParameter(
                f"there is no type {text}{suggestion(text, names)}", param_hint=option
            )
    return found


async def followed_events(
    read: ReadPage,
    now: Callable[[], datetime],
    since: datetime | None,
    shown: int,
    *,
    size: int = _MOST,
    pause: float = _PAUSE,
) -> AsyncIterator[list[Document]]:
    """Yield the last events, or all since then, and each later one once, oldest first."""
    from gateway.domain.events import EventPage, Period

    begin, seen = now() - _LATE, dict[str, int]()
    if since is None:
        # Events that the first page leaves out are not new.
        async for found in _pages(read, begin, size):
            seen |= {item["id"]: item["time"] for item in found}
        found = (await read(Period(), EventPage(0, shown, newest_first=True)))[::-1]
        seen |= {item["id"]: item["time"] for item in found}
        yield found
    else:
        begin = since
    while True:
        # A page may take long to show: the next read begins where this one began.
        following = now() - _LATE
        async for found in _pages(read, begin, size):
            new = [item for item in found if item["id"] not in seen]
            seen |= {item["id"]: item["time"] for item in new}
            if new:
                yield new
        begin = following
        oldest = begin.timestamp() * 1000
        seen = {key: instant for key, instant in seen.items() if instant >= oldest}
        await asyncio.sleep(pause)


async def _pages(read: ReadPage, begin: datetime, size: int) -> AsyncIterator[list[Document]]:
    """Yield the events since then, oldest first, until a page is not full."""
    from gateway.domain.events import EventPage, Period

    first = 0
    while True:
        found = await read(Period(begin, None), EventPage(first, size, newest_first=False))
        yield found
        if len(found) < size:
            return
        first += size


add_object_commands(event, "event")
