"""The rows of the admin API call their use cases with the arguments that these take."""

from dataclasses import replace
from inspect import signature

import pytest

from gateway.http.admin.operations import (
    Body,
    Operation,
    Resource,
    UseCaseHandler,
    as_caller,
    for_realm,
)
from tests.support.admin_operations import operations


def mistakes(row: Operation) -> list[str]:
    """Return what the use case of a row would not take; nothing for a handler of another kind."""
    handler = row.handler
    if not isinstance(handler, UseCaseHandler):
        return []
    expected = signature(handler.use_case)
    first = "realm" if handler.of_realm else "acting"
    found = [] if next(iter(expected.parameters), "") == first else [f"{row.summary}: {first}"]
    given = handler.names if handler.address is None else ("address",)
    if row.success not in ({200} if row.returns else {201, 204}):
        found.append(f"{row.summary}: answers {row.success}")
    body = ["body"] if row.body is not None else []
    try:
        expected.bind(first, *given, *body, **handler.inputs)
    except TypeError as error:
        found.append(f"{row.summary}: {error}")
    return found


def test_a_row_calls_its_use_case_with_what_it_takes() -> None:
    assert any(isinstance(row.handler, UseCaseHandler) for row in operations())
    assert [each for row in operations() for each in mistakes(row)] == []


async def _rename(acting: object, key: str, document: object) -> None:
    del acting, key, document


def test_a_row_whose_reply_has_another_status_is_found() -> None:
    rows = Resource("/admin/realms/{realm}/things/{key}", "Things", (), ())
    call = as_caller(_rename)
    assert mistakes(rows.put("", "Rename a thing", call, body=Body())) == []
    assert mistakes(rows.post("", "Rename a thing", call, body=Body(), returns="Thing")) != []
    assert mistakes(rows.put("", "Rename a thing", call, body=Body(), status=200)) != []


@pytest.mark.parametrize("path", ["", "/{a}/{b}"])
def test_a_row_with_too_few_or_many_placeholders_is_found(path: str) -> None:
    rows = Resource("/admin/realms/{realm}/things", "Things", (), ())
    row = rows.put(path, "Rename a thing", as_caller(_rename), body=Body())
    assert mistakes(row) != []
    assert mistakes(replace(row, handler=for_realm(_rename).for_row(row))) != []
