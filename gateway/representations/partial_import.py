"""Partial imports into a realm: the policy for existing resources, and the result of each.

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
    """The result of importing one resource."""

    ADDED = "ADDED"
    OVERWRITTEN = "OVERWRITTEN"
    SKIPPED = "SKIPPED"


class IfExists(StrEnum):
    """The policy for a resource that exists already."""

    FAIL = "FAIL"
    SKIP = "SKIP"
    OVERWRITE = "OVERWRITE"

    def action(self, *, exists: bool) -> Action:
        """Return the result for a resource that is not refused."""
        if not exists:
            return Action.ADDED
        return Action.SKIPPED if self is IfExists.SKIP else Action.OVERWRITTEN


class ImportedKind(StrEnum):
    """The kind of an imported resource."""

    CLIENT = "CLIENT"
    CLIENT_ROLE = "CLIENT_ROLE"
    GROUP = "GROUP"
    REALM_ROLE = "REALM_ROLE"
    USER = "USER"


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """The result for one resource; a role of a client has the `id` of the client."""

    action: Action
    kind: ImportedKind
    name: str
    id: str


def parse_policy(document: Mapping[str, Any]) -> IfExists:
    """Return the policy for existing resources; raises InvalidInput, and UnknownField.

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
