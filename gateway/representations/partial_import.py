"""Partial imports into a realm: what is sent, and what became of each part of it.

Keycloak: PartialImportRepresentation, PartialImportResults (26.7)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gateway.representations.realms import require_known_resources
from gateway.representations.shapes import Choice

_POLICY: Final = "ifResourceExists"
_FORMER_POLICY: Final = "policy"


class Action(StrEnum):
    """What became of one resource."""

    ADDED = "ADDED"
    OVERWRITTEN = "OVERWRITTEN"
    SKIPPED = "SKIPPED"


class IfExists(StrEnum):
    """What to do with a resource that exists already."""

    FAIL = "FAIL"
    SKIP = "SKIP"
    OVERWRITE = "OVERWRITE"

    def action(self, *, exists: bool) -> Action:
        """Return what becomes of a resource that is not refused."""
        if not exists:
            return Action.ADDED
        return Action.SKIPPED if self is IfExists.SKIP else Action.OVERWRITTEN


class ImportedKind(StrEnum):
    """What kind of resource it is."""

    CLIENT = "CLIENT"
    CLIENT_ROLE = "CLIENT_ROLE"
    GROUP = "GROUP"
    REALM_ROLE = "REALM_ROLE"
    USER = "USER"


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What became of one resource; `id` is that of the client for a role of a client."""

    action: Action
    kind: ImportedKind
    name: str
    id: str


def parse_policy(document: Mapping[str, Any]) -> IfExists:
    """Return what is to become of what exists; raises InvalidInput, and UnknownField.

    Unknown fields of the document itself are passed over: whole realms are sent.
    """
    require_known_resources(document)
    name = _POLICY if document.get(_POLICY) is not None else _FORMER_POLICY
    value = document.get(name)
    return (None if value is None else Choice(IfExists).read(value, name)) or IfExists.FAIL


def render_outcomes(outcomes: Iterable[ImportOutcome]) -> dict[str, Any]:
    """Return the answer of a partial import: each resource and the counts by action."""
    results = list(outcomes)
    counts = {action: sum(one.action is action for one in results) for action in Action}
    return {
        "overwritten": counts[Action.OVERWRITTEN],
        "added": counts[Action.ADDED],
        "skipped": counts[Action.SKIPPED],
        "results": [
            {"action": one.action, "resourceType": one.kind, "resourceName": one.name, "id": one.id}
            for one in results
        ],
    }
