"""Large documents: full collections wait, topics are bounded, parts are freed in slices."""

import gc
import sys
import weakref

from gateway.domain.limits.input_sizes import clear_locals, free_in_slices, freed, large_document
from gateway.domain.ports.invalidation import (
    MOST_TOPICS,
    Topics,
    client_topic,
    realm_topic,
    user_topic,
)


def test_full_collections_wait_for_the_last_large_document() -> None:
    before = (gc.get_threshold(), sys.getswitchinterval())
    with large_document():
        with large_document():
            assert gc.get_threshold()[:2] == before[0][:2]
            assert gc.get_threshold()[2] > 1_000_000
        assert gc.get_threshold()[2] > 1_000_000
        assert sys.getswitchinterval() < before[1]
    assert (gc.get_threshold(), sys.getswitchinterval()) == before


def test_a_change_of_many_clients_publishes_the_realm_topic() -> None:
    few = [client_topic("a", str(number)) for number in range(MOST_TOPICS)]
    other = user_topic("b", "1")
    assert list(Topics([*few, *few, other])) == [*few, other]
    assert list(Topics([*few, other, client_topic("a", "more")])) == [realm_topic("a"), other]


def test_a_realm_topic_replaces_those_of_its_users_and_clients() -> None:
    client, other = client_topic("a", "1"), client_topic("b", "1")
    assert list(Topics([client, other, realm_topic("a"), client])) == [realm_topic("a"), other]


class Part:
    """What can be referred to weakly."""


async def test_parts_that_nothing_else_refers_to_are_freed() -> None:
    kept, freed = Part(), Part()
    reference = weakref.ref(freed)
    parts: list[object] = [kept, freed]
    del freed
    await free_in_slices(parts)
    assert parts == []
    assert reference() is None


class Nested(dict[str, object]):
    """An object that can be referred to weakly."""


def test_containers_are_freed_one_at_a_time() -> None:
    inner = Nested()
    outer = Nested(inner=[inner])
    outer_lives, inner_lives = weakref.ref(outer), weakref.ref(inner)
    steps = freed([outer])
    del outer, inner
    next(steps)
    assert outer_lives() is None
    assert inner_lives() is not None
    assert len(list(steps)) == 2
    assert inner_lives() is None


def test_what_something_else_refers_to_keeps_its_members() -> None:
    document = {"kept": [{"a": 1}]}
    for _ in freed([document]):
        pass
    assert document == {"kept": [{"a": 1}]}


def test_a_failure_keeps_no_values_of_ended_calls() -> None:
    part = Part()
    lives = weakref.ref(part)

    def refuse(value: Part) -> None:
        raise ValueError(type(value))

    try:
        try:
            refuse(part)
        except ValueError as error:
            raise TypeError from error
    except TypeError as failure:
        del part
        assert lives() is not None
        clear_locals(failure)
        assert lives() is None
