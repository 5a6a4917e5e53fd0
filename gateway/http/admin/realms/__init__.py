"""Operations on realms. Keycloak: 7.1."""

from gateway.http.admin.realms.configuration_resources import (
    ConfigurationParts,
    configuration_operations,
)
from gateway.http.admin.realms.resources import RealmParts, realm_operations

__all__ = [
    "ConfigurationParts",
    "RealmParts",
    "configuration_operations",
    "realm_operations",
]
