"""Request parameters as every protocol endpoint reads them.

An empty value counts as absent, and a name that is sent twice is remembered as such: which answer
that gets depends on the endpoint's order of checks. Spec: RFC 6749 §3.1, §3.2
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Parameters:
    """The form of one request: the first value of each name, and the names that came twice."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    repeated_names: frozenset[str] = frozenset()
    further: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Of the names that came more than once, the values after the first."""

    @property
    def repeated(self) -> bool:
        """Whether any name came twice."""
        return bool(self.repeated_names)

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], also_sent: Iterable[str] = ()) -> "Parameters":
        """Collect decoded pairs; `also_sent` are names seen elsewhere, such as in the query."""
        values: dict[str, str] = {}
        further: dict[str, tuple[str, ...]] = {}
        for name, value in pairs:
            if name in values:
                further[name] = (*further.get(name, ()), value)
            else:
                values[name] = value
        repeated = {*further, *(name for name in also_sent if name in values)}
        return cls(values, frozenset(repeated), further)

    def get(self, name: str) -> str | None:
        """Return the value, or None when it is absent or empty."""
        return self.values.get(name) or None

    def raw(self, name: str) -> str | None:
        """Return the value as sent, empty included."""
        return self.values.get(name)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value as sent, in order."""
        first = self.values.get(name)
        return () if first is None else (first, *self.further.get(name, ()))
