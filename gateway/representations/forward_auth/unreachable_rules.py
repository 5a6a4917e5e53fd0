"""Rules that never decide, since rules before them decide every request that they match.

Such a rule is a mistake that opens what it was to close: `/*` comes before `/admin/*`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gateway.domain.forward_auth import PathPattern, Rule

_BELOW: Final = "/*"


def unreachable_rules(rules: Sequence[Rule]) -> Iterator[tuple[int, Rule]]:
    """Yield the place of each rule that never decides, and the first rule that decides instead."""
    decided: dict[str, _Decided] = {}
    for place, rule in enumerate(rules):
        methods = rule.decided_methods
        earlier = [_first_decider(decided, pattern, methods) for pattern in rule.paths]
        known = [found for found in earlier if found is not None]
        if earlier and len(known) == len(earlier):
            yield place, known[0]
        for pattern in rule.paths:
            decided.setdefault(pattern.text, _Decided()).add(rule, methods)


class _Decided:
    """What the rules so far decide at one pattern: their methods, None for every method."""

    def __init__(self) -> None:
        self.methods: frozenset[str] | None = frozenset()
        self.first: Rule | None = None

    def add(self, rule: Rule, methods: frozenset[str] | None) -> None:
        self.first = self.first or rule
        self.methods = _united(self.methods, methods)


def _first_decider(
    decided: dict[str, _Decided], pattern: PathPattern, methods: frozenset[str] | None
) -> Rule | None:
    """Return a rule before that decides all requests of the pattern, together with others."""
    united: frozenset[str] | None = frozenset()
    first: Rule | None = None
    for text in _covering(pattern):
        found = decided.get(text)
        if found is not None:
            united = _united(united, found.methods)
            first = first or found.first
    is_covered = united is None or (methods is not None and methods <= united)
    return first if is_covered else None


def _covering(pattern: PathPattern) -> Iterator[str]:
    """Yield the texts of all patterns that match everything which this one matches."""
    yield pattern.text
    path = pattern.path
    if not pattern.covers_below:
        yield f"{path.rstrip('/')}{_BELOW}"
    while path:
        path = path.rpartition("/")[0]
        yield f"{path}{_BELOW}"


def _united(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other
