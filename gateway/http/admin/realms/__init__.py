"""Operations on realms. Keycloak: 7.1."""

from gateway.http.admin.realms.configuration_resources import (
    configuration_operations,
)
from gateway.http.admin.realms.resources import realm_operations
