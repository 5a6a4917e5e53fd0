"""Large JSON replies: the same bytes as encoded at once, and other work goes on meanwhile."""

import asyncio
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.replies import JSON_UTF8, large_json_reply
from tests.support.turns import with_turns

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=20,
)
_LENGTHS = st.sampled_from((0, 1, 99, 100, 101, 200, 201))


@given(_VALUES, _VALUES, _LENGTHS)
def test_a_large_reply_has_the_bytes_of_a_small_one(item: Any, other: Any, length: int) -> None:
    for document in (
        item,
        [item] * length,
        {"a": other, 'b"\u00e9': [item] * length, "c": [other] * length},
        {"results": {"inner": [item] * length}},
    ):
        reply = asyncio.run(large_json_reply(document, content_type=JSON_UTF8))
        assert reply.body == orjson.dumps(document)
        assert reply.headers == (JSON_UTF8,)


async def test_other_work_has_its_turns_while_a_large_reply_is_encoded() -> None:
    document = {"results": [{"id": "x" * 2_000}] * 50_000}
    reply, turns = await with_turns(large_json_reply(document))
    assert len(reply.body) > 100_000_000
    assert turns > 2
