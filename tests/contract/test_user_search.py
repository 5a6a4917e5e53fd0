"""Finding users: by name, address and id, and by search, on both databases."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from gateway.domain.errors import InvalidInput
from gateway.domain.users import User, UserQuery
from gateway.storage.sql import user_search as user_pages
from gateway.storage.sql.address import parse_database_url
from gateway.storage.sql.database import SqlDatabase, create_engines
from tests.support.storage import StoredDatabase
from tests.support.stored_values import client, store_realms, user

_PEOPLE = (
    user("alice", email="alice@example.test", first_name="Alice", last_name="Adams"),
    user("bob", email="robert@example.test", first_name="Bob", last_name="Ärger", enabled=False),
    user("carol", email="carol@other.test", email_verified=True, last_name="Van Alice"),
    user("dave_1", email="100%@example.test", first_name="D/\\ave"),
    user("dave21", first_name="Dave", attributes={"team": ("Red", "blue"), "x_y": ("1",)}),
    user("o'neil", first_name="\\'"),
    user("yang", first_name="明王小"),
    user("erin", attributes={"team": ("blue",), "longest": ("Z" * 3000,), "odd": ("\ud800\0",)}),
)


def _theirs(person: User) -> dict[str, object]:
    return {"id": person.id, "email": person.email, "attributes": {"team": ("blue", "red")}}


@pytest.fixture(params=[500, 2, 0], ids=["looking at all", "walking on", "by terms"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find users as in a small realm, as where many match, and as where few of many do."""
    monkeypatch.setattr(user_pages, "SAMPLE", request.param)


@pytest.fixture
async def people(database: SqlDatabase) -> SqlDatabase:
    """Store people for a test that changes them."""
    return await _store_people(database)


@pytest.fixture(scope="module")
async def unchanged_people(shared_database: SqlDatabase) -> SqlDatabase:
    """Store people once, for all tests that only read."""
    return await _store_people(shared_database)


async def _store_people(database: SqlDatabase) -> SqlDatabase:
    """Store people, and others with their ids in another realm."""
    await store_realms(database, "demo", "other", "third")
    async with database.write() as stores:
        for person in _PEOPLE:
            await stores.users.add(person)
            await stores.users.add(user(f"t{person.username}", of="third", **_theirs(person)))
        await stores.clients.add(client("device"))
        await stores.users.add(
            user(
                "service-account-device",
                email="device@example.test",
                service_account_client="device-uuid",
            )
        )
    return database


async def _found(database: SqlDatabase, query: UserQuery, of: str = "demo-id") -> str:
    """Return the usernames, after counting them too."""
    async with database.read() as stores:
        users = await stores.users.search_users(of, query, 0, 100)
        assert await stores.users.count_users(of, query) == len(users)
    return " ".join(found.username for found in users)


async def test_users_are_found_by_when_they_were_made(people: SqlDatabase) -> None:
    early, day = datetime(2001, 1, 1, tzinfo=UTC), timedelta(days=1)
    async with people.write() as stores:
        await stores.users.add(user("first", created_at=early))
        await stores.users.add(user("second", created_at=early + day))
    assert await _found(people, UserQuery(created_until=early)) == ""
    assert await _found(people, UserQuery(created_until=early + day)) == "first"
    both = UserQuery(created_from=early, created_until=early + 2 * day)
    assert await _found(people, both) == "first second"
    assert await _found(people, UserQuery(created_from=early + day, search="se")) == "second"
    assert await _found(people, UserQuery(created_from=early + 2 * day, username="ali")) == "alice"
    assert await _found(people, both, of="other-id") == ""


async def test_a_user_is_found_by_id_and_by_address(unchanged_people: SqlDatabase) -> None:
    async with unchanged_people.read() as stores:
        assert await stores.users.find_by_id("demo-id", "alice-uuid") == _PEOPLE[0]
        assert await stores.users.find_by_email("demo-id", "alice@example.test") == _PEOPLE[0]
        for wrong in ("ghost", "alice", "ALICE-UUID", "nul\0", "x" * 300):
            assert await stores.users.find_by_id("demo-id", wrong) is None
            assert await stores.users.find_by_email("demo-id", wrong) is None
        assert await stores.users.find_by_id("other-id", "alice-uuid") is None
        assert await stores.users.find_by_email("other-id", "alice@example.test") is None


async def test_of_users_sharing_an_address_the_first_by_name_is_found(
    people: SqlDatabase,
) -> None:
    async with people.write() as stores:
        await stores.users.add(user("aaron", email="alice@example.test"))
        found = await stores.users.find_by_email("demo-id", "alice@example.test")
    assert found is not None
    assert found.username == "aaron"


async def test_everybody_is_found_but_service_accounts(unchanged_people: SqlDatabase) -> None:
    everybody = "alice bob carol dave21 dave_1 erin o'neil yang"
    assert await _found(unchanged_people, UserQuery()) == everybody
    for nothing in ("", "  ", "*", "**"):
        assert await _found(unchanged_people, UserQuery(search=nothing)) == everybody
    assert await _found(unchanged_people, UserQuery(username="", email="", exact=True)) == everybody
    assert await _found(unchanged_people, UserQuery(search="service")) == ""
    assert await _found(unchanged_people, UserQuery(search="id:service-account-device-uuid")) == ""


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("ali", "alice"),
        ("ALI", "alice"),
        ("lice", ""),
        ("rob", "bob"),
        ("är", "bob"),
        ("ÄRGER", "bob"),
        ("*lice", "alice carol"),
        ("a*ce", "alice"),
        ("d*1", "dave21 dave_1"),
        ("dave*", "dave21 dave_1"),
        ("da**ve*", "dave21 dave_1"),
        ("v*n", "carol"),
        ("dave alice", ""),
        ("alice adams", "alice"),
        (" van  c ", "carol"),
        ('"alice"', "alice"),
        ('"ALICE"', "alice"),
        ('"ali"', ""),
        ('"van alice"', "carol"),
        ('"*"', ""),
        ('"', ""),
        ("dave_", "dave_1"),
        ("_ave", ""),
        ("%", ""),
        ("100%", "dave_1"),
        ("*0%@*", "dave_1"),
        ("*_1", "dave_1"),
        ("d/\\a", "dave_1"),
        ("d*\\a", "dave_1"),
        ("d/*ave", "dave_1"),
        ("d*/*ave", "dave_1"),
        ("\U0010ffff", ""),
        ("dave ve", ""),
        ("*ve *ve", "dave21 dave_1"),
        ("*xam*.t", "alice bob dave_1"),
        ("*'*", "o'neil"),
        ("o'n", "o'neil"),
        ("*\\*", "dave_1 o'neil"),
        ("\\'", "o'neil"),
        ("*ne*x", ""),
        ("明", "yang"),
        ("小明", ""),
        ("*小*", "yang"),
        ("*王小", "yang"),
        ("\x02ali", ""),
        ("*\x031", ""),
        ("nul\0", ""),
        ("\ud800", ""),
        ("x" * 300, ""),
        ("id:bob-uuid", "bob"),
        ("id:bob-uuid  erin-uuid", "bob erin"),
        ("id:bob", ""),
        ("id:", ""),
        ("id:\0", ""),
    ],
)
async def test_search_is_a_prefix_of_any_name_or_address(
    unchanged_people: SqlDatabase, search: str, expected: str
) -> None:
    assert await _found(unchanged_people, UserQuery(search=search)) == expected
    assert await _found(unchanged_people, UserQuery(search=search), of="other-id") == ""


@pytest.mark.parametrize("prefix", ["a\U0010ffff", "z\ud7ff", "~", "Ω"])
async def test_the_last_of_a_prefix_is_found_and_not_its_neighbours(
    people: SqlDatabase, prefix: str
) -> None:
    async with people.write() as stores:
        for number, name in enumerate((prefix, prefix + "\U0010ffff" * 2, prefix + "a")):
            await stores.users.add(user(f"u{number}", first_name=name))
        following = chr(ord(prefix[-1]) + 1) if ord(prefix[-1]) < 0xD7FF else "\ue000"
        await stores.users.add(user("neighbour", first_name=prefix[:-1] + following))
    assert await _found(people, UserQuery(search=prefix.lower())) == "u0 u1 u2"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (UserQuery(username="AV"), "dave21 dave_1"),
        (UserQuery(username="_"), "dave_1"),
        (UserQuery(username="%"), ""),
        (UserQuery(username="*"), ""),
        (UserQuery(email="%@E"), "dave_1"),
        (UserQuery(email="example"), "alice bob dave_1"),
        (UserQuery(first_name="/\\A"), "dave_1"),
        (UserQuery(first_name="b"), "bob"),
        (UserQuery(last_name="Ä"), "bob"),
        (UserQuery(last_name="alice"), "carol"),
        (UserQuery(last_name="\0"), ""),
        (UserQuery(username="Alice", exact=True), "alice"),
        (UserQuery(username="alic", exact=True), ""),
        (UserQuery(last_name="VAN alice", exact=True), "carol"),
        (UserQuery(username="dave__", exact=True), ""),
        (UserQuery(username="a", last_name="adams"), "alice"),
        (UserQuery(enabled=False), "bob"),
        (UserQuery(enabled=True, email="example"), "alice dave_1"),
        (UserQuery(email_verified=True), "carol"),
        (UserQuery(email_verified=False, search="c"), ""),
        (UserQuery(attributes={"team": "BLUE"}), "dave21 erin"),
        (UserQuery(attributes={"TEAM": "red"}), "dave21"),
        (UserQuery(attributes={"team": "blu"}), ""),
        (UserQuery(attributes={"team": "blue", "x_y": "1"}), "dave21"),
        (UserQuery(attributes={"xay": "1"}), ""),
        (UserQuery(attributes={"longest": "z" * 3000}), "erin"),
        (UserQuery(attributes={"longest": "z" * 2999}), ""),
        (UserQuery(attributes={"odd": "\ud800\0"}), "erin"),
    ],
)
async def test_each_field_narrows_the_search(
    unchanged_people: SqlDatabase, query: UserQuery, expected: str
) -> None:
    assert await _found(unchanged_people, query) == expected
    assert await _found(unchanged_people, query, of="other-id") == ""


@pytest.mark.parametrize(
    "query",
    [
        UserQuery(search="*a*b*c*d"),
        UserQuery(search=" ".join("abcdefghijk")),
        UserQuery(attributes={f"name {number}": "" for number in range(11)}),
    ],
    ids=["wildcards", "words", "attributes"],
)
async def test_a_search_that_would_take_too_long_is_refused(
    unchanged_people: SqlDatabase, query: UserQuery
) -> None:
    with pytest.raises(InvalidInput, match=r"^(search|q): more given, at most"):
        await _found(unchanged_people, query)


@pytest.mark.parametrize("longest", ["%" * 255, "/" * 255, "İ" * 255, "z" * 255])
async def test_a_text_that_grows_when_it_is_compared_finds_nobody(
    unchanged_people: SqlDatabase, longest: str
) -> None:
    assert await _found(unchanged_people, UserQuery(search=longest)) == ""
    assert await _found(unchanged_people, UserQuery(search=f'"{longest[2:]}"')) == ""
    assert await _found(unchanged_people, UserQuery(username=longest, email=longest)) == ""
    assert await _found(unchanged_people, UserQuery(username=longest, exact=True)) == ""
    assert await _found(unchanged_people, UserQuery(last_name=longest, exact=True)) == ""


async def test_pages_follow_each_other_in_the_order_of_names(unchanged_people: SqlDatabase) -> None:
    async with unchanged_people.read() as stores:
        pages = [
            [
                found.username
                for found in await stores.users.search_users("demo-id", UserQuery(), *page)
            ]
            for page in ((0, 2), (2, 2), (6, 2), (8, 2), (1, 0), (3, 100))
        ]
        of_some = [
            [
                found.username
                for found in await stores.users.search_users(
                    "demo-id", UserQuery(search="*a"), *page
                )
            ]
            for page in ((0, 2), (2, 2), (4, 2), (6, 2), (1, 0), (1, 100))
        ]
    assert pages == [
        ["alice", "bob"],
        ["carol", "dave21"],
        ["o'neil", "yang"],
        [],
        [],
        ["dave21", "dave_1", "erin", "o'neil", "yang"],
    ]
    assert of_some == [
        ["alice", "bob"],
        ["carol", "dave21"],
        ["dave_1", "yang"],
        [],
        [],
        ["bob", "carol", "dave21", "dave_1", "yang"],
    ]


async def test_what_a_user_no_longer_has_is_not_found(people: SqlDatabase) -> None:
    changed = replace(
        _PEOPLE[4], first_name="Other", attributes={"team": ("green",)}, required_actions=("A",)
    )
    async with people.write() as stores:
        await stores.users.replace(changed)
    assert await _found(people, UserQuery(attributes={"team": "blue"})) == "erin"
    assert await _found(people, UserQuery(attributes={"team": "green"})) == "dave21"
    assert await _found(people, UserQuery(first_name="dave")) == ""
    assert await _found(people, UserQuery(search="other")) == "dave21"
    async with people.read() as stores:
        assert await stores.users.find_by_id("demo-id", "dave21-uuid") == changed


async def test_of_two_realms_that_look_alike_each_finds_its_own(people: SqlDatabase) -> None:
    """SQLite marks terms with the ends of the realm's id: here they are the same."""
    await store_realms(people, "demo-o")
    async with people.write() as stores:
        await stores.users.add(user("alina", of="demo-o"))
    assert await _found(people, UserQuery(search="al")) == "alice"
    assert await _found(people, UserQuery(username="lin"), of="demo-o-id") == "alina"


_CHANGES = {
    "UPDATE users SET username = 'zoe' WHERE username = 'alice'": "zoe",
    "UPDATE users SET email = 'alice@example.test' WHERE username = 'alice'": "alice",
    "UPDATE users SET enabled = true, email = 'zoe' WHERE username = 'alice'": "alice",
    "DELETE FROM users WHERE username = 'alice'": "",
    "DELETE FROM realms WHERE id = 'demo-id'": "",
    "UPDATE users SET service_account_client = 'device-uuid' WHERE username = 'alice'": "",
}


_VOCABULARY = (
    "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, user_search_terms, instance)"
)
_LEFT_OVER = "SELECT count(*) FROM vocabulary WHERE doc NOT IN (SELECT number FROM user_search)"


@pytest.mark.parametrize("statement", _CHANGES)
async def test_whoever_changes_users_changes_what_is_found(
    people: SqlDatabase, stored_database: StoredDatabase, statement: str
) -> None:
    """The version before this one too, which knows nothing of terms; here it is plain SQL."""
    engines = create_engines(parse_database_url(stored_database.url))
    async with engines.writer.begin() as connection:
        account = "DELETE FROM users WHERE service_account_client IS NOT NULL"
        await connection.execute(text(account))
        await connection.execute(text(statement))
        if stored_database.url.reveal().startswith("sqlite"):
            await connection.execute(text(_VOCABULARY))
            left_over = await connection.execute(text(_LEFT_OVER))
            assert left_over.scalar_one() == 0
            indexed = await connection.execute(text("SELECT count(*) FROM user_search"))
            known = "SELECT count(*) FROM users WHERE service_account_client IS NULL"
            assert indexed.scalar_one() == (await connection.execute(text(known))).scalar_one()
    await engines.dispose()
    for query in (UserQuery(search="*zoe*"), UserQuery(search="alice")):
        found = set((await _found(people, query)).split())
        assert found - {"carol"} <= {_CHANGES[statement]}
    everybody = (await _found(people, UserQuery())).split()
    assert _CHANGES[statement] in {*everybody, ""}
    assert set(everybody) & {"alice", "zoe"} == {_CHANGES[statement]} - {""}
    if _CHANGES[statement]:
        part = _CHANGES[statement][1:]
        assert await _found(people, UserQuery(username=part)) == _CHANGES[statement]


async def test_documents_of_the_version_before_are_read_and_vice_versa(
    people: SqlDatabase, stored_database: StoredDatabase
) -> None:
    """Both keep attributes, actions and notBefore in the document, under Keycloak's names."""
    assert json.dumps({"team": ["Red", "blue"], "x_y": ["1"]}, separators=(",", ":")) in (
        _decoded(stored_database)
    )
    async with people.write() as stores:
        old: User = user("old", document={"attributes": {"a": ["1"]}, "requiredActions": ["A"]})
        await stores.users.add(replace(old, document={**old.document, "notBefore": 5}))
        found = await stores.users.find_by_id("demo-id", "old-uuid")
    assert found == user("old", attributes={"a": ("1",)}, required_actions=("A",), not_before=5)


def _decoded(stored_database: StoredDatabase) -> str:
    return stored_database.dump().decode("latin-1")
