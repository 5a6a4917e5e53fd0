"""Which regular expressions of administrators may be used, and how much matching them may cost.

`re` tries every way to match, cannot be stopped, and lets no other thread run meanwhile. So the
steps of a match are counted before it begins: from the parsed pattern and the length of the text.
A pattern is refused when it is written if its steps grow faster than the square of the text's
length, or cannot be counted (back references, possessive repeats). All matches of one evaluation,
such as a sign-in's user profile or a new password's policy, share one budget of steps; what is
beyond the budget does not match.
Keycloak: `x509.subjectdn` as a pattern, PatternValidator, regexPattern. CWE-1333
"""

import asyncio
import importlib
import math
import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from gateway.domain.errors import RealmgateError
from gateway.domain.limits.caches import SizedCache

LONGEST_FOR_PATTERN: Final = 1024
"""Characters of a text; a longer one matches nothing."""
LARGEST_PATTERN: Final = 4096
"""Weight of one pattern, see `pattern_weight`: parsing and compiling it takes at most 40 ms."""
LARGEST_PATTERNS: Final = 32_768
"""Weight of all patterns of one user profile, and of all flows of a realm."""
EVALUATION_STEPS: Final = 6_000_000
"""Steps of all matches of one evaluation. The most expensive step takes 5 ns."""
INLINE_STEPS: Final = 300_000
"""Steps of an evaluation that the event loop does itself; the rest is done in a thread."""
MAY_TAKE_HOURS: Final = "It may match for hours"
TOO_LARGE: Final = "It is too long, or has too large ranges of characters"

# Two unbounded repeats and the text after them, where a third would take a minute.
_MOST_STEPS: Final = 64 * (LONGEST_FOR_PATTERN + 1) ** 2
# A repeat or an alternative is entered more slowly than a character is compared.
_CHOOSING: Final = 16
_GROUPS_OF_A_STEP: Final = 32
"""A choice saves the places of all groups before it: as long as a step, for that many of them."""
_LENGTHS: Final = (16, 32, 64, 128, 256, 512, LONGEST_FOR_PATTERN)
"""Lengths of texts for which steps are counted; a text counts as the next longer one."""
_PREPARING: Final = 4_000
"""Steps that preparing a pattern takes as long as, for each unit of its weight."""
_WIDEST_RANGE: Final = 0x10000
_CHARACTERS_OF_A_UNIT: Final = 64
"""A range is compiled character by character, far faster than the pattern is parsed."""
_UNREADABLE: Final = (re.error, OverflowError, RecursionError)

T = TypeVar("T")
Cost = tuple[float, float]
"""How many ways there are to match something at one place, and the steps to try all of them."""


class Verdict(StrEnum):
    """What came of a match."""

    MATCHES = "matches"
    DIFFERS = "differs"
    TOO_COSTLY = "too costly"
    """It was not tried, as the budget did not allow it."""


class MatchesPending(RealmgateError):
    """Matches that take long are to be done outside of the transaction, which is to be repeated."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A pattern that may be used; `steps` are those of a match, by `_LENGTHS`."""

    compiled: re.Pattern[str]
    steps: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Unusable:
    reason: str


def _weigh(pattern: str, prepared: _Prepared | _Unusable) -> int:
    compiled = isinstance(prepared, _Prepared) and prepared.compiled.__sizeof__()
    return 512 + 4 * len(pattern) + int(compiled)


_PREPARED: Final[SizedCache[str, _Prepared | _Unusable]] = SizedCache(4 * 1024 * 1024, _weigh)


def pattern_problem(pattern: str) -> str | None:
    """Return why the pattern may not be used: TOO_LARGE, MAY_TAKE_HOURS, or what is malformed."""
    prepared = _prepare(pattern)
    return prepared.reason if isinstance(prepared, _Unusable) else None


def pattern_weight(pattern: str) -> int:
    """Return the work to prepare a pattern: its length, and that of its ranges if it parses."""
    try:
        return len(pattern) + _range_weight(_parse(pattern))
    except _UNREADABLE:
        return len(pattern)


class PatternMatches:
    """The matches of one evaluation, which share a budget of steps.

    Those that take long are left pending where `inline` is smaller than the budget: they count as
    TOO_COSTLY until `run_pending` has decided them, and the evaluation is repeated then.
    """

    def __init__(self, steps: float = EVALUATION_STEPS, inline: float = INLINE_STEPS) -> None:
        self._left = steps
        self._inline = inline
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self._pending: dict[tuple[str, str], None] = {}

    @property
    def pending(self) -> bool:
        """Tell whether the evaluation is to be repeated after `run_pending`."""
        return bool(self._pending)

    def require_decided(self) -> None:
        if self._pending:
            raise MatchesPending

    def verdict(self, pattern: str, text: str) -> Verdict:
        if len(text) > LONGEST_FOR_PATTERN:
            return Verdict.DIFFERS
        key = (pattern, text)
        known = self._verdicts.get(key)
        if known is not None:
            return known
        prepared = _PREPARED.get(pattern)
        self._inline -= 0 if prepared is not None else _PREPARING * _heaviest(pattern)
        if self._inline < 0:
            self._pending[key] = None
            return Verdict.TOO_COSTLY
        prepared = prepared or _prepare(pattern)
        steps = _steps(prepared, text)
        if self._inline < steps <= self._left:
            self._pending[key] = None
            return Verdict.TOO_COSTLY
        self._inline -= min(steps, self._left)
        return self._decide(key, prepared, steps)

    def run_pending(self) -> None:
        """Decide what is pending; to be called in a thread, while this is not in use elsewhere."""
        pending, self._pending = self._pending, {}
        for key in pending:
            prepared = _prepare(key[0])
            self._decide(key, prepared, _steps(prepared, key[1]))

    def _decide(
        self, key: tuple[str, str], prepared: _Prepared | _Unusable, steps: float
    ) -> Verdict:
        verdict = Verdict.TOO_COSTLY
        if isinstance(prepared, _Prepared) and steps <= self._left:
            self._left -= steps
            matches = prepared.compiled.fullmatch(key[1]) is not None
            verdict = Verdict.MATCHES if matches else Verdict.DIFFERS
        self._verdicts[key] = verdict
        return verdict


def matches_with_group(pattern: str, text: str) -> tuple[re.Match[str], ...]:
    """Return the pattern's matches in the text whose group is not empty, in any case.

    None of them unless the pattern has exactly one group, nor where trying every place would take
    more steps than an evaluation has. To be called in a thread: they take up to 30 ms.
    """
    prepared = _prepare(f"(?i:{pattern})")
    if len(text) > LONGEST_FOR_PATTERN or not isinstance(prepared, _Prepared):
        return ()
    if _steps(prepared, text) * (len(text) + 1) > EVALUATION_STEPS:
        return ()
    if prepared.compiled.groups != 1:
        return ()
    return tuple(found for found in prepared.compiled.finditer(text) if found[1])


def matches_at_once() -> PatternMatches:
    """Return matches that leave nothing pending: where there is no event loop to hold up."""
    return PatternMatches(inline=math.inf)


async def evaluate(evaluation: Callable[[PatternMatches], T]) -> T:
    """Return what the evaluation gives, its long matches done in a thread."""
    matches = PatternMatches()
    result = evaluation(matches)
    while matches.pending:
        await asyncio.to_thread(matches.run_pending)
        result = evaluation(matches)
    return result


async def repeat_while_pending(attempt: Callable[[PatternMatches], Awaitable[T]]) -> T:
    """Return what the attempt gives, repeated after the matches it raised MatchesPending for."""
    matches = PatternMatches()
    while True:
        try:
            return await attempt(matches)
        except MatchesPending:
            await asyncio.to_thread(matches.run_pending)


def _prepare(pattern: str) -> _Prepared | _Unusable:
    prepared = _PREPARED.get(pattern)
    if prepared is None:
        prepared = _examine(pattern)
        _PREPARED.put(pattern, prepared)
    return prepared


def _examine(pattern: str) -> _Prepared | _Unusable:
    if len(pattern) > LARGEST_PATTERN:
        return _Unusable(TOO_LARGE)
    try:
        parsed = _parse(pattern)
        if len(pattern) + _range_weight(parsed) > LARGEST_PATTERN:
            return _Unusable(TOO_LARGE)
        saving = max(1, parsed.state.groups / _GROUPS_OF_A_STEP)
        steps = tuple(saving * _Steps(length).sequence(parsed)[1] for length in _LENGTHS)
        if not steps[-1] <= _MOST_STEPS:
            return _Unusable(MAY_TAKE_HOURS)
        # Not by `re.compile`, which keeps hundreds of patterns whatever their size.
        return _Prepared(importlib.import_module("re._compiler").compile(pattern), steps)
    except _UNREADABLE as error:
        return _Unusable(str(error))


def _parse(pattern: str) -> Any:
    """Parse as `re` does: what is read is what is run. The parser has no public name."""
    return importlib.import_module("re._parser").parse(pattern)


def _heaviest(pattern: str) -> int:
    """Return a bound of the pattern's weight without parsing it."""
    return len(pattern) + pattern.count("-") * (_WIDEST_RANGE // _CHARACTERS_OF_A_UNIT)


def _steps(prepared: _Prepared | _Unusable, text: str) -> float:
    if isinstance(prepared, _Unusable):
        return math.inf
    return prepared.steps[bisect_left(_LENGTHS, len(text))]


def _range_weight(parsed: Any) -> int:
    """Return the weight of all ranges of characters in a parsed pattern."""
    characters = 0
    open_ones = [parsed]
    while open_ones:
        item = open_ones.pop()
        match item:
            case (operation, (int(first), int(last))) if str(operation) == "RANGE":
                characters += min(last - first, _WIDEST_RANGE)
            case list() | tuple():
                open_ones.extend(item)
            case _ if hasattr(item, "data"):
                open_ones.extend(item.data)
            case _:
                pass
    return characters // _CHARACTERS_OF_A_UNIT


class _Steps:
    """Counts the steps of matching a text of at most `length` characters."""

    def __init__(self, length: int) -> None:
        self._length = length

    def sequence(self, items: Iterable[tuple[object, Any]]) -> Cost:
        ways, steps = 1.0, 0.0
        for operation, argument in items:
            own_ways, own_steps = self._cost(str(operation), argument)
            steps += ways * own_steps
            ways *= own_ways
        return ways, steps

    def _cost(self, operation: str, argument: Any) -> Cost:
        match operation:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "AT":
                return 1, 1
            case "IN":
                return 1, len(argument)
            case "SUBPATTERN":
                ways, steps = self.sequence(argument[-1])
                return ways, 1 + steps
            case "ASSERT" | "ASSERT_NOT":
                # It is never entered again, however what follows fails.
                return 1, _CHOOSING + self.sequence(argument[-1])[1]
            case "BRANCH":
                costs = [self.sequence(alternative) for alternative in argument[-1]]
                return sum(ways for ways, _ in costs), _CHOOSING + sum(cost for _, cost in costs)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(*argument)
            case _:
                return math.inf, math.inf

    def _repeat(self, least: int, most: int, body: Any) -> Cost:
        most = max(least, min(most, self._length))
        ways, steps = self.sequence(body)
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
