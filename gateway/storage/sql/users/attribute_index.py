"""The index of user attributes: search by equality, without regard to case.

Long values, and texts that a database refuses, are indexed by their digest: so every value can be
searched, and no index row exceeds the limit of PostgreSQL. Keycloak: GET users, `q`
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gateway.storage.sql.column_types import is_name

_LONGEST_BYTES: Final = 64


def index_term(text: str) -> str:
    """Return the index entry of a name or a value."""
    lowered = text.lower()
    encoded = lowered.encode("utf-8", "surrogatepass")
    if len(encoded) < _LONGEST_BYTES and is_name(lowered):
        return lowered
    return hashlib.sha256(encoded).hexdigest()


def index_terms(attributes: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Return the pairs of name and value under which a user is found, each once."""
    pairs = ((name, text) for name, texts in attributes.items() for text in texts)
    return iter(dict.fromkeys((index_term(name), index_term(text)) for name, text in pairs))
