"""What a new kind of small resource gets by its declaration alone, on both databases."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from sqlalchemy import Boolean, Column, Table
from sqlalchemy.schema import CreateTable, DropTable

from gateway.admin.access import AdminRole, operator
from gateway.admin.changes import Changes, entity_tag
from gateway.admin.realm_files.resources import FileValueParser
from gateway.admin.resources import (
    FileMember,
    Page,
    ResourceAdministration,
    ResourceKind,
    Summaries,
)
from gateway.cli.resources import resource_group
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.events import AdminEventQuery, EventPage
from gateway.domain.realm import EventsConfig
from gateway.domain.refusals import InvalidRequest, NotFound, PreconditionFailed
from gateway.domain.resources import StoredKind
from gateway.http.admin.endpoint import controlled_placeholders
from gateway.http.admin.openapi import openapi_document
from gateway.http.admin.resources import resource_operations
from gateway.representations.field_table import FieldTable, Setting
from gateway.representations.shapes import Flag, Milliseconds, Text, UrlName
from gateway.storage.sql.column_types import Instant, Name
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.schema import metadata
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, realm

REALM = replace(realm(), events=EventsConfig(admin_enabled=True, admin_details_enabled=True))
ACTING = operator(REALM)


@dataclass(frozen=True, slots=True)
class Notice:
    """A value with a field of each kind."""

    id: str
    created_at: datetime
    text: str = ""
    urgent: bool = False


KIND = ResourceKind(
    title="Notice",
    plural="notices",
    path="notices",
    tag="Notices",
    representation="NoticeRepresentation",
    fields=FieldTable(
        (
            Setting("name", "id", UrlName(), public=True),
            Setting("createdTimestamp", "created_at", Milliseconds(), read_only=True),
            Setting("text", "text", Text(most=255)),
            Setting("urgent", "urgent", Flag()),
        )
    ),
    stored=StoredKind(
        Notice, "notices", order=("created_at", "id"), search=("text",), conflict_message="taken"
    ),
    key="name",
    required=("name",),
    summaries=Summaries(
        "List the notices", "Create a notice", "Get a notice", "Replace a notice", "Delete a notice"
    ),
    page=Page("Realm", ("name", "text"), (("name", "text"),), help={"text": "Shown to users."}),
    view=(AdminRole.VIEW_REALM,),
    manage=(AdminRole.MANAGE_REALM,),
    most=4,
    page_size=2,
    versioned=True,
    new=lambda now: Notice(str(uuid4()), now),
    file=FileMember("notices"),
)


@dataclass
class Messages:
    """Invalidation that records topics."""

    topics: list[str] = field(default_factory=list)

    async def publish(self, topics: Sequence[str]) -> None:
        self.topics += topics


@dataclass(frozen=True)
class Setup:
    """The use cases of the kind."""

    notices: ResourceAdministration[Notice]
    database: SqlDatabase
    messages: Messages
    clock: SetClock

    async def names(self, *page: Any, search: str = "") -> list[str]:
        return [
            each["name"] for each in await self.notices.list_values(REALM, *page, search=search)
        ]

    async def create(self, **document: object) -> str:
        return await self.notices.create_value(ACTING, document)


@pytest.fixture
async def setup(database: SqlDatabase) -> AsyncIterator[Setup]:
    columns: list[Column[Any]] = [
        Column("realm_id", Name, primary_key=True),
        Column("id", Name, primary_key=True),
    ]
    columns += [Column("created_at", Instant), Column("text", Name), Column("urgent", Boolean)]
    table = Table("notices", metadata, *columns)
    messages, clock = Messages(), SetClock(NOW)
    try:
        async with database.write() as stores:
            await stores.transaction.execute(CreateTable(table))
            await stores.realms.add(REALM)
        changes: Any = Changes(database, clock, messages)  # type: ignore[arg-type] # it only publishes
        yield Setup(ResourceAdministration(KIND, changes), database, messages, clock)
        async with database.write() as stores:
            await stores.transaction.execute(DropTable(table))
    finally:
        metadata.remove(table)


async def test_a_declared_kind_is_listed_searched_and_changed(setup: Setup) -> None:
    texts = {"a": "Power CUT", "b": "100% sure", "c": "power back"}
    for name, text in texts.items():
        assert await setup.create(name=name, text=text, urgent=name == "a") == name
    assert await setup.names() == ["a", "b", "c"]
    assert await setup.names(1, 1) == ["b"]
    assert await setup.names(search="power") == ["a", "c"]
    assert await setup.names(1, 5, search="power") == ["c"]
    assert await setup.names(search="%") == ["b"]
    first = await setup.notices.get_value(REALM, "a")
    created = first.pop("createdTimestamp")
    assert first == {"name": "a", "text": "Power CUT", "urgent": True}

    setup.clock.advance(timedelta(minutes=1))
    await setup.notices.replace_value(ACTING, "a", {"text": "over"})
    assert await setup.notices.get_value(REALM, "a") == {
        "name": "a",
        "createdTimestamp": created,
        "text": "over",
        "urgent": False,
    }
    await setup.notices.remove_value(ACTING, "a")
    with pytest.raises(NotFound, match="Notice not found"):
        await setup.notices.get_value(REALM, "a")
    assert set(setup.messages.topics) == {f"realm:{REALM.id}"}
    assert len(setup.messages.topics) == 5


async def test_a_declared_kind_refuses_what_its_fields_refuse(setup: Setup) -> None:
    await setup.create(name="a")
    for document in (
        {},
        {"name": "b", "x": 1},
        {"name": "b", "createdTimestamp": 1},
        {"name": "/"},
    ):
        with pytest.raises(InvalidInput):
            await setup.notices.create_value(ACTING, document)
    with pytest.raises(AlreadyExists, match="taken"):
        await setup.create(name="a")
    with pytest.raises(InvalidRequest, match="The name of a notice cannot be changed"):
        await setup.notices.replace_value(ACTING, "a", {"name": "b"})
    for name in "bcd":
        await setup.create(name=name)
    with pytest.raises(InvalidRequest, match="A realm has at most 4 notices"):
        await setup.create(name="e")


async def test_a_declared_kind_honors_if_match(setup: Setup) -> None:
    await setup.create(name="a")
    stale = replace(ACTING, if_match=entity_tag({"name": "other"}))
    with pytest.raises(PreconditionFailed):
        await setup.notices.replace_value(stale, "a", {"text": "new"})
    with pytest.raises(PreconditionFailed):
        await setup.notices.remove_value(stale, "a")
    current = replace(ACTING, if_match=entity_tag(await setup.notices.get_value(REALM, "a")))
    await setup.notices.replace_value(current, "a", {"text": "new"})


async def test_events_of_a_declared_kind_have_its_public_fields(setup: Setup) -> None:
    await setup.create(name="a", text="not public", urgent=True)
    async with setup.database.read() as stores:
        (event,) = await stores.admin_events.page(REALM.id, AdminEventQuery(), EventPage(0, 10))
    assert (event.operation, event.resource_path) == ("CREATE", "notices/a")
    assert event.representation == '{"name":"a","urgent":true}'


def test_a_declared_kind_has_rows_openapi_and_commands() -> None:
    unused: Any = None
    rows = tuple(resource_operations(ResourceAdministration(KIND, Changes(unused, unused, unused))))
    base = "/admin/realms/{realm}/notices"
    assert [(row.method, row.path) for row in rows] == [
        *(("GET", base), ("POST", base)),
        *((method, f"{base}/{{id}}") for method in ("GET", "PUT", "DELETE")),
    ]
    assert [controlled_placeholders(row) for row in rows] == [()] * len(rows)
    document = openapi_document(rows, "1")
    assert "text" in document["components"]["schemas"]["NoticeRepresentation"]["properties"]
    listed = [each["name"] for each in document["paths"][base]["get"]["parameters"]]
    assert listed == ["search", "first", "max"]
    shown = CliRunner().invoke(resource_group(KIND), ["--help"]).output
    assert all(f"  {name} " in shown for name in ("list", "show", "create", "replace", "delete"))
    assert "--search" in CliRunner().invoke(resource_group(KIND), ["list", "--help"]).output


async def test_realm_files_have_a_declared_kind(setup: Setup) -> None:
    parser = FileValueParser((KIND,), REALM.name, setup.clock)
    await setup.create(name="a", text="old")
    mistakes: tuple[Any, ...] = ({}, [{"name": "b", "urgent": "x"}], [1])
    for wrong in mistakes:
        with pytest.raises(InvalidInput, match="notices"):
            parser.parse({"notices": wrong}, "")
    (values,) = parser.parse({"notices": [{"name": "a", "text": "new"}, {"name": "b"}]}, "")
    async with setup.database.write() as stores:
        assert await values.store(stores, REALM)
    async with setup.database.write() as stores:
        assert not await values.store(stores, REALM)
    texts = {each["name"]: each["text"] for each in await setup.notices.list_values(REALM)}
    assert texts == {"a": "new", "b": ""}
