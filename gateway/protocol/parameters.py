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

    @property
    def repeated(self) -> bool:
        """Whether any name came twice."""
        return bool(self.repeated_names)

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], also_sent: Iterable[str] = ()) -> "Parameters":
        """Collect decoded pairs; `also_sent` are names seen elsewhere, such as in the query."""
        values: dict[str, str] = {}
        repeated: set[str] = set()
        for name, value in pairs:
            if name in values:
                repeated.add(name)
            else:
                values[name] = value
        repeated.update(name for name in also_sent if name in values)
        return cls(values, frozenset(repeated))

    def get(self, name: str) -> str | None:
        """Return the value, or None when it is absent or empty."""
        return self.values.get(name) or None

    def raw(self, name: str) -> str | None:
        """Return the value as sent, empty included."""
        return self.values.get(name)
