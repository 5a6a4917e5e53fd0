"""client-updater-source-roles: holds for changes by a user who has certain roles.

A role of a client is written `client_id.role`: the last dot separates them. A dot in the name of a
role is written `~.`, and a `~` in front of a dot `~~`, so two roles never have one text.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, EventKind, PolicyEvent

_DOT: Final = re.compile(r"(~*)\.")
Role = tuple[str | None, str]
"""Public name of the client, None for a role of the realm, and name of the role."""


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceRoles(Condition):
    """Holds for users with one of the `roles`."""

    provider: ClassVar = "client-updater-source-roles"
    roles: frozenset[Role] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(frozenset(map(_parse_role, configuration.texts("roles"))))

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in {
            EventKind.REGISTER,
            EventKind.UPDATE,
        }:
            return Vote.ABSTAIN
        return vote(not self.roles.isdisjoint(event.updater.roles.pairs()))


def _parse_role(text: str) -> Role:
    names, end = [""], 0
    for dot in _DOT.finditer(text):
        literal, is_escaped = divmod(len(dot[1]), 2)
        names[-1] += text[end : dot.start()] + "~" * literal + ("." if is_escaped else "")
        if not is_escaped:
            names.append("")
        end = dot.end()
    names[-1] += text[end:]
    *client, role = names
    return ".".join(client) if client else None, role
