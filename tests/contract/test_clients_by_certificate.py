"""Clients are found by the names of their certificates, however many there are."""

from gateway.domain.clients import Client, certificate_terms, with_attributes
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import client, store_realms

PREFIX = "realmgate.certificate"


def _known(client_id: str, **attributes: str) -> Client:
    named = {f"{PREFIX}.{name.replace('_', '.')}": text for name, text in attributes.items()}
    return with_attributes(client(client_id, client_authenticator_type="client-x509"), named)


async def _found(database: SqlDatabase, *clients: Client, realm: str = "demo-id") -> list[str]:
    terms = frozenset[str]().union(*map(certificate_terms, clients))
    async with database.read() as stores:
        return list(await stores.clients.with_certificate_terms(realm, terms, 10))


async def test_clients_are_found_by_name_or_by_the_shape_of_a_template(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo", "other")
    one, two = _known("one", san_dns="one.example"), _known("two", san_uri="urn:two")
    fleet = _known("fleet", template="urn://a/{device}")
    secret = with_attributes(client("secret"), {f"{PREFIX}.san.dns": "one.example"})
    async with database.write() as stores:
        for each in (one, two, fleet, secret):
            await stores.clients.add(each)
    assert await _found(database, one) == ["one"]
    assert await _found(database, one, two, _known("x", san_ip="192.0.2.1")) == ["one", "two"]
    assert await _found(database, _known("y", template="urn://b/{site}")) == ["fleet"]
    assert await _found(database, one, realm="other-id") == []
    assert await _found(database) == []


async def test_a_changed_client_is_found_by_its_new_name_alone(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    before, after = (_known("moving", san_dns=f"{name}.example") for name in ("a", "b"))
    async with database.write() as stores:
        await stores.clients.add(before)
    async with database.write() as stores:
        await stores.clients.replace(after)
    assert (await _found(database, before), await _found(database, after)) == ([], ["moving"])
    async with database.write() as stores:
        await stores.clients.remove_client("demo-id", after.id)
    assert await _found(database, after) == []
