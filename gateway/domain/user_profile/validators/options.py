"""`options`: each value is one of `options`. Keycloak: OptionsValidator."""

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each


def options(configuration: Configuration) -> Check:
    """Require one of the configured values."""
    allowed = frozenset(configuration.texts("options") or ())
    if not configuration.has("options"):
        configuration.missing("options")
    return each(lambda text: None if text in allowed else Finding("error-invalid-value"))
