"""The conditions of client policies that are evaluated: one file and one line each."""

from collections.abc import Mapping
from typing import Final

from gateway.client_policies.conditions.acr import Acr
from gateway.client_policies.conditions.any_client import AnyClient
from gateway.client_policies.conditions.client_access_type import ClientAccessType
from gateway.client_policies.conditions.client_attributes import ClientAttributes
from gateway.client_policies.conditions.client_roles import ClientRoles
from gateway.client_policies.conditions.client_scopes import ClientScopes
from gateway.client_policies.conditions.client_type import ClientType
from gateway.client_policies.conditions.client_updater_context import ClientUpdaterContext
from gateway.client_policies.conditions.client_updater_source_groups import (
    ClientUpdaterSourceGroups,
)
from gateway.client_policies.conditions.client_updater_source_host import (
    ClientUpdaterSourceHost,
)
from gateway.client_policies.conditions.client_updater_source_roles import (
    ClientUpdaterSourceRoles,
)
from gateway.client_policies.conditions.condition import Condition
from gateway.client_policies.conditions.grant_type import GrantType

CONDITIONS: Final[Mapping[str, type[Condition]]] = {
    condition.provider: condition
    for condition in (
        Acr,
        AnyClient,
        ClientAccessType,
        ClientAttributes,
        ClientRoles,
        ClientScopes,
        ClientType,
        ClientUpdaterContext,
        ClientUpdaterSourceGroups,
        ClientUpdaterSourceHost,
        ClientUpdaterSourceRoles,
        GrantType,
    )
}
"""Keycloak's id -> condition."""
