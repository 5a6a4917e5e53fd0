"""Values that break the user profile, as an administrator is told. Keycloak: 0.2, family C."""

from collections.abc import Sequence
from typing import Any

from gateway.domain.errors import InvalidInput
from gateway.domain.user_profile.findings import Violation


class ProfileViolated(InvalidInput):
    """A user whose attributes the profile of the realm refuses."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__(())
        self.violations = tuple(violations)

    def __str__(self) -> str:
        return "; ".join(map(_sentence, self.violations))

    @property
    def document(self) -> dict[str, Any]:
        """What is answered: one violation by itself, several as `errors`."""
        told = [
            {"field": one.field, "errorMessage": one.message, "params": list(one.parameters)}
            for one in self.violations
        ]
        return told[0] if len(told) == 1 else {"errors": told}


def _sentence(violation: Violation) -> str:
    """Return field and message, and in brackets what the message is about, such as a range."""
    limits = ", ".join(str(value) for value in violation.parameters[1:] if value is not None)
    return f"{violation.field}: {violation.message}" + (f" ({limits})" if limits else "")
