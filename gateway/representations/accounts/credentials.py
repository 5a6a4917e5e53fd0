"""Credentials as users see them. Keycloak: 17.4."""

from typing import Any, Final

from gateway.representations.shapes import Text

LONGEST_LABEL: Final = 255


def parse_own_label(value: Any) -> str | None:
    """Return the label of a JSON text, None for null or an empty one; raises InvalidInput."""
    return None if value is None else Text(most=LONGEST_LABEL).read(value, "userLabel") or None


def message(key: str, *parameters: str) -> dict[str, Any]:
    """Return a text by its key."""
    return {"key": key, "parameters": list(parameters)}
