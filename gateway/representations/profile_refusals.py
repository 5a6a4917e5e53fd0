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
        return "; ".join(f"{one.field}: {one.message}" for one in self.violations)

    @property
    def document(self) -> dict[str, Any]:
        """What is answered: one violation by itself, several as `errors`."""
        told = [
            {"field": one.field, "errorMessage": one.message, "params": list(one.parameters)}
            for one in self.violations
        ]
        return told[0] if len(told) == 1 else {"errors": told}
