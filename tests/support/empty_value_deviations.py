"""Where an empty value is not answered as by Keycloak, and why."""

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from tests.support.empty_values import Answer


@dataclass(frozen=True, slots=True)
class Deviation:
    """`field` and `operation` are patterns of the shell; `values` are JSON texts in a row.

    `answer` is the gateway's.
    """

    subject: str
    field: str
    values: str
    status: int
    why: str
    operation: str = "*"

    def explains(self, operation: str, name: str, value: Any) -> bool:
        """Tell whether this is about that field with that value."""
        return (
            fnmatchcase(operation, self.operation)
            and fnmatchcase(name, self.field)
            and json.dumps(value) in self.values.split()
        )

    def permits(self, answer: Answer) -> bool:
        """Tell whether the gateway may answer so."""
        return int(answer[0]) == self.status


DEVIATIONS: Final[tuple[Deviation, ...]] = ()
