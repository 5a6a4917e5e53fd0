"""The roles that a list names: each once, and a long list does not hold up other work."""

from gateway.admin.roles import read_references
from tests.support.turns import with_turns


async def test_a_role_that_is_named_twice_is_read_once() -> None:
    first, second = {"id": "1", "name": "reader"}, {"id": "2", "name": "writer"}
    references = await read_references([first, second, first])
    assert [(reference.id, reference.name) for reference in references] == [
        ("1", "reader"),
        ("2", "writer"),
    ]


async def test_other_work_has_its_turns_while_a_long_list_is_read() -> None:
    named = [{"name": f"role {number}"} for number in range(100_000)]
    references, turns = await with_turns(read_references(named))
    assert len(references) == 100_000
    assert turns > 2
