"""The ways in which a caller may write the name of a header that only a proxy may set."""

import itertools
from collections.abc import Iterator


def spellings(name: str) -> Iterator[str]:
    """Yield the name with each choice of `-` and `_`, and in other cases."""
    first, *words = name.split("-")
    for separators in itertools.product("-_", repeat=len(words)):
        pairs = zip(separators, words, strict=True)
        yield first + "".join(separator + word for separator, word in pairs)
    yield from (name.lower(), name.upper(), name.replace("-", "_").upper())
