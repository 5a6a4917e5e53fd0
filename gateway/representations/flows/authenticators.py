"""The authenticators that flows may consist of: names, requirements, and settings of each.

Names are Keycloak's, for clients find an execution by them. Keycloak keeps any other property as
well. Keycloak: 15 (password grant flow), authenticator-providers, client-authenticator-providers,
form-action-providers
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS, WITH_SECRET
from gateway.domain.flows import ACTING, FORM_ACTIONS, FlowKind, Requirement
from gateway.domain.tables import build_value, read_table
from gateway.representations.components import Property

_TABLE: Final = read_table("gateway.representations.flows", "authenticators.toml")
_PROPERTIES: Final[Mapping[str, tuple[Property, ...]]] = build_value(
    Mapping[str, tuple[Property, ...]], _TABLE["properties"]
)
SECRETS: Final = frozenset(
    each.name for properties in _PROPERTIES.values() for each in properties if each.secret
)
"""Secrets of services that this version does not use: they are not stored."""


_REQUIRED, _ALTERNATIVE = Requirement.REQUIRED, Requirement.ALTERNATIVE
_DISABLED, _CONDITIONAL = Requirement.DISABLED, Requirement.CONDITIONAL
_EITHER: Final = (_REQUIRED, _DISABLED)
_USUAL: Final = (_REQUIRED, _ALTERNATIVE, _DISABLED)
SUB_FLOW_CHOICES: Final[Mapping[FlowKind, tuple[Requirement, ...]]] = {
    FlowKind.BASIC: (*_USUAL, _CONDITIONAL),
    FlowKind.CLIENT: _USUAL,
    FlowKind.FORM: _EITHER,
}


UNAVAILABLE: Final = (
    "cannot act yet: a sign-in passes it over, and fails where it is required; a flow of the"
    " password grant with it is refused"
)
"""What becomes of an authenticator of users that does not act."""


class AuthenticatorRole(StrEnum):
    """In which kind of flow an authenticator has its place."""

    USER = "user"
    CLIENT = "client"
    FORM = "form"
    FORM_ACTION = "form action"


@dataclass(frozen=True, slots=True)
class AuthenticatorDescription:
    """An authenticator; `help` describes it in a sentence."""

    id: str
    name: str
    help: str
    choices: tuple[Requirement, ...]
    properties: tuple[Property, ...]
    role: AuthenticatorRole

    @property
    def acts(self) -> bool:
        """Tell whether it acts in a sign-in of this version."""
        return self.id in ACTING or self.id in FORM_ACTIONS

    def listed(self) -> dict[str, Any]:
        members = {"displayName": self.name, "description": self.help, "id": self.id}
        if self.role is AuthenticatorRole.CLIENT:
            return {"supportsSecret": self.id in WITH_SECRET, **members}
        return members

    def described(self) -> dict[str, Any]:
        """Return the settings. Keycloak: AuthenticatorConfigInfoRepresentation."""
        return {
            "name": self.name,
            "providerId": self.id,
            "helpText": self.help,
            "properties": [each.document() for each in self.properties],
        }


_CHOICES: Final[Mapping[str, tuple[Requirement, ...]]] = {
    "usual": _USUAL,
    "either": _EITHER,
    "always": (_REQUIRED,),
    "any": (_REQUIRED, _ALTERNATIVE, _CONDITIONAL, _DISABLED),
}


def _authenticators() -> Iterator[AuthenticatorDescription]:
    for row in _TABLE["authenticators"]:
        name, role = row["id"], AuthenticatorRole(row["role"])
        properties = _PROPERTIES.get(row.get("properties", name), ())
        choices = _CHOICES[row["choices"]]
        yield AuthenticatorDescription(name, row["name"], row["help"], choices, properties, role)
    for each in CLIENT_AUTHENTICATORS:
        yield AuthenticatorDescription(
            each.id, each.name, each.help, _USUAL, (), AuthenticatorRole.CLIENT
        )


AUTHENTICATORS: Final = {each.id: each for each in _authenticators()}
"""All of them, by id."""
ROLES: Final[Mapping[FlowKind, AuthenticatorRole]] = {
    FlowKind.BASIC: AuthenticatorRole.USER,
    FlowKind.CLIENT: AuthenticatorRole.CLIENT,
    FlowKind.FORM: AuthenticatorRole.FORM_ACTION,
}
"""Which authenticators have their place in a flow."""


def of_role(role: AuthenticatorRole) -> tuple[AuthenticatorDescription, ...]:
    """Return the authenticators of a role."""
    return tuple(each for each in AUTHENTICATORS.values() if each.role is role)
