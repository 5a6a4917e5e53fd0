"""`attributes` of users, groups and roles: lists of texts by name."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.representations.refusals import attempt, join, raise_all, refused
from gateway.representations.shapes import Text, TextList, TextOfScalar

_MOST_ATTRIBUTES: Final = 1000


class TextLists:
    """`attributes`: lists of texts by name; a single value counts as a list of one.

    A number or a boolean counts as its text, for so kcadm sends what looks like one, and null as
    nothing.
    """

    def read(self, value: Any, path: str) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, Mapping) or len(value) > _MOST_ATTRIBUTES:
            raise refused(path, value, f"an object of at most {_MOST_ATTRIBUTES} lists of texts")
        errors: list[FieldError] = []
        lists: dict[str, tuple[str, ...]] = {}
        for name, item in value.items():
            at = join(path, name)
            attempt(errors, "", Text(least=1, most=255).read, name, at)
            lists[name] = attempt(errors, (), TextList(TextOfScalar()).read, _listed(item), at)
        raise_all(errors)
        return lists

    def write(self, value: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
        return {name: list(texts) for name, texts in value.items()}


def _listed(item: Any) -> Any:
    if item is None:
        return []
    return [item] if isinstance(item, (str, int, float)) else item


def without_empty(
    attributes: Mapping[str, tuple[str, ...]] | None,
) -> Mapping[str, tuple[str, ...]] | None:
    """Leave out attributes without a value: Keycloak does not keep them."""
    return attributes and {name: texts for name, texts in attributes.items() if texts}
