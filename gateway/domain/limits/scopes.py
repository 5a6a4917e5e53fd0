"""Limits of the `scope` parameter, asked before its names are looked at.

Spec: RFC 6749 §3.3; CWE-770
"""

from typing import Final

LONGEST_SCOPE: Final = 4_000
"""Characters of the parameter."""
MOST_SCOPE_NAMES: Final = 200
"""Names in it, repeats included."""
PREPARED_BYTES: Final = 2 * 1024 * 1024
"""Memory of a worker for combinations of scopes that are kept prepared, of all realms together."""


def scope_excess(text: str) -> str | None:
    """Return what is too large about a `scope` parameter, None where nothing is."""
    if len(text) > LONGEST_SCOPE:
        return f"longer than {LONGEST_SCOPE} characters"
    if text.count(" ") >= MOST_SCOPE_NAMES:
        return f"more than {MOST_SCOPE_NAMES} names"
    return None
