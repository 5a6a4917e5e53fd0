"""`options`: each value is one of `options`. Keycloak: OptionsValidator."""

from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each


class Options:
    """The validator."""

    name: Final = "options"

    def configured(self, configuration: Configuration) -> Check:
        """Return the check."""
        allowed = frozenset(configuration.texts("options") or ())
        if not configuration.has("options"):
            configuration.missing("options")

        def check(text: str) -> Finding | None:
            return None if text in allowed else Finding("error-invalid-value")

        return each(check)
