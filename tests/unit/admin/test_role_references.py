"""The roles that a list names: each once, and a long list does not hold up other work."""

import asyncio

from gateway.admin.roles import read_references


async def test_a_role_that_is_named_twice_is_read_once() -> None:
    first, second = {"id": "1", "name": "reader"}, {"id": "2", "name": "writer"}
    references = await read_references([first, second, first])
    assert [(reference.id, reference.name) for reference in references] == [
        ("1", "reader"),
        ("2", "writer"),
    ]


async def test_other_work_has_its_turns_while_a_long_list_is_read() -> None:
    ended = asyncio.Event()
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while not ended.is_set():
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await asyncio.sleep(0)
    before = turns
    references = await read_references([{"name": f"role {number}"} for number in range(100_000)])
    meanwhile = turns - before
    ended.set()
    await counting
    assert len(references) == 100_000
    assert meanwhile > 2
