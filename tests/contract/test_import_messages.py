"""What an import tells the gateways: no more than has changed. Architecture: caches go by message.

A realm that is told of is forgotten with all its clients and users, on every gateway.
"""

from typing import Any

from tests.support.realm_imports import ACME, Imports, changed


async def _topics(imports: Imports, document: dict[str, Any]) -> list[str]:
    imports.messages.topics.clear()
    await imports.run(document)
    return list(imports.messages.topics)


async def test_an_import_that_changes_nothing_tells_nothing(imports: Imports) -> None:
    await imports.run(ACME)
    assert await _topics(imports, ACME) == []


async def test_a_change_of_clients_alone_tells_of_these_clients(imports: Imports) -> None:
    await imports.run(ACME)
    clients = [{"clientId": "Robot", "enabled": False}, {"clientId": "page"}, {"clientId": "new"}]
    topics = await _topics(imports, changed(clients=clients))
    ids = [(await imports.client(name)).id for name in ("Robot", "new")]
    assert topics == [f"client:acme:{identity}" for identity in ids]


async def test_many_changed_clients_are_told_of_as_their_realm(imports: Imports) -> None:
    await imports.run(ACME)
    some = [{"clientId": f"c{number}", "publicClient": True} for number in range(100)]
    assert len(await _topics(imports, changed(clients=some))) == 100
    more = [{"clientId": f"d{number}", "publicClient": True} for number in range(101)]
    assert await _topics(imports, changed(clients=more)) == ["realm:acme"]


async def test_a_change_beyond_clients_tells_of_the_realm(imports: Imports) -> None:
    await imports.run(ACME)
    for document in (
        changed(displayName="changed"),
        changed(displayName="changed", roles={"realm": [{"name": "new"}]}),
        changed(
            displayName="changed",
            roles={"realm": [{"name": "new", "composites": {"realm": ["worker"]}}]},
        ),
        changed(displayName="changed", users=[{"username": "new"}]),
        changed(
            displayName="changed",
            clients=[
                {"clientId": "signs", "attributes": {"access.token.signed.response.alg": "EdDSA"}}
            ],
        ),
    ):
        assert await _topics(imports, document) == ["realm:acme"]
        assert await _topics(imports, document) == []
