"""Which patterns may be matched at all: those that backtrack at most quadratically.

`re` tries every way to match, and cannot be stopped: `(a+)+b` takes longer than anyone waits. The
ways are counted here in the parsed pattern, for a text of the longest length. What cannot be
counted (back references, possessive repeats) is no such pattern either.
Keycloak: `x509.subjectdn` as a pattern. CWE-1333
"""

import importlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

LONGEST_FOR_PATTERN: Final = 1024
# Two unbounded repeats and the text after them: 0.1 s at worst, where a third would take a minute.
_MOST_STEPS: Final = 64 * (LONGEST_FOR_PATTERN + 1) ** 2
# A repeat or an alternative is entered more slowly than a character is compared.
_CHOOSING: Final = 16

Cost = tuple[float, float]
"""How many ways there are to match something at one place, and the steps to try all of them."""


@lru_cache(maxsize=1024)
def is_bounded_pattern(pattern: str) -> bool:
    """Tell whether `pattern` is a regular expression that always ends soon."""
    try:
        # The parser of `re` itself: what it reads is what is run. It has no public name.
        parsed = importlib.import_module("re._parser").parse(pattern)
        _, steps = _sequence(parsed)
    except (re.error, OverflowError, RecursionError):
        return False
    return steps <= _MOST_STEPS


def _sequence(items: Iterable[tuple[object, Any]]) -> Cost:
    ways, steps = 1.0, 0.0
    for operation, argument in items:
        count = _COSTS.get(str(operation), _uncounted)
        own_ways, own_steps = count(argument)
        steps += ways * own_steps
        ways *= own_ways
    return ways, steps


def _one(_argument: object) -> Cost:
    return 1, 1


def _uncounted(_argument: object) -> Cost:
    return math.inf, math.inf


def _character_class(members: list[object]) -> Cost:
    return 1, len(members)


def _group(argument: tuple[object, object, object, Any]) -> Cost:
    ways, steps = _sequence(argument[-1])
    return ways, 1 + steps


def _lookaround(argument: tuple[int, Any]) -> Cost:
    """Count what is looked at; it is never entered again, however what follows fails."""
    _, steps = _sequence(argument[-1])
    return 1, _CHOOSING + steps


def _branch(argument: tuple[object, list[Any]]) -> Cost:
    costs = [_sequence(alternative) for alternative in argument[-1]]
    return sum(ways for ways, _ in costs), _CHOOSING + sum(steps for _, steps in costs)


def _repeat(argument: tuple[int, int, Any]) -> Cost:
    least, most, body = argument
    most = max(least, min(most, LONGEST_FOR_PATTERN))
    ways, steps = _sequence(body)
    if ways == 1:
        return most - least + 1, _CHOOSING + most * (1 + steps)
    all_ways, all_steps, reached = 0.0, float(_CHOOSING), 1.0
    for times in range(most + 1):
        all_ways += reached if times >= least else 0
        all_steps += reached * (1 + steps) if times < most else 0
        reached *= ways
        if all_steps > _MOST_STEPS:
            return math.inf, math.inf
    return all_ways, all_steps


_COSTS: Final[Mapping[str, Callable[[Any], Cost]]] = {
    "LITERAL": _one,
    "NOT_LITERAL": _one,
    "ANY": _one,
    "AT": _one,
    "IN": _character_class,
    "SUBPATTERN": _group,
    "ASSERT": _lookaround,
    "ASSERT_NOT": _lookaround,
    "BRANCH": _branch,
    "MAX_REPEAT": _repeat,
    "MIN_REPEAT": _repeat,
}
