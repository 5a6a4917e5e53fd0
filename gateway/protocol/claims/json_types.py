"""The JSON type of a claim: `jsonType.label` converts a text to the value in the token.

A text that is not of the type adds no claim. Keycloak: claim JSON type
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from gateway.domain.errors import InvalidInput
from gateway.representations.json_input import parse_json

JSON_TYPE: Final = "jsonType.label"
UNMAPPABLE: Final = object()
"""Marks a text that is not of the type."""
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")


def reader_of(config: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the conversion of texts; an unknown type leaves them unchanged."""
    return _READERS.get(config.get(JSON_TYPE, ""), str)


def read_all(read: Callable[[str], Any], texts: Sequence[str]) -> list[Any]:
    """Return the values of the texts that are of the type."""
    if read is str:
        return list(texts)
    return [value for value in map(read, texts) if value is not UNMAPPABLE]


def _boolean(text: str) -> bool:
    return text.lower() == "true"


def _whole(bits: int) -> Callable[[str], Any]:
    bound = 1 << (bits - 1)

    def read(text: str) -> Any:
        number = int(text) if _WHOLE.fullmatch(text) else bound
        return number if -bound <= number < bound else UNMAPPABLE

    return read


def _json(text: str) -> Any:
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"), "a claim")
    except InvalidInput:
        return UNMAPPABLE


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "String": str,
    "boolean": _boolean,
    "int": _whole(32),
    "long": _whole(64),
    "JSON": _json,
}
