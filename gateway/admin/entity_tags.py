"""Entity tags of answers, with which a change names the state that it is based on.

A tag is a digest of the JSON text of the answer, which is encoded once for both.
Spec: RFC 9110 §8.8.3, §13.1.1 (strong comparison)
"""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Final, TypeGuard

import orjson

from gateway.domain.refusals import PreconditionFailed

_TAG: Final = re.compile(r'(W/)?"[\x21\x23-\x7e]*"')


_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class RenderedDocument:
    """The text of a JSON document, and its tag in its quotes."""

    body: bytes = field(repr=False)
    tag: str

    @classmethod
    def of(cls, document: object) -> "RenderedDocument":
        body = orjson.dumps(document)
        return cls(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def entity_tag(document: object) -> str:
    """Return the tag of a JSON document, in its quotes."""
    return RenderedDocument.of(document).tag


def names_state(if_match: str | None) -> TypeGuard[str]:
    """Tell whether the header names states; `*` and no header take every state."""
    return if_match is not None and if_match.strip() != _ANY


def require_match(if_match: str | None, *documents: object) -> None:
    """Raise PreconditionFailed if the header names another state than each of the documents."""
    if not names_state(if_match):
        return
    known = {found.group() for found in _TAG.finditer(if_match)}
    if known.isdisjoint(map(entity_tag, documents)):
        raise PreconditionFailed("it has changed since")
