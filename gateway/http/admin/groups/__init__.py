"""Operations on groups. Keycloak: 7.3."""

from gateway.http.admin.groups.default_groups import DefaultGroupHandlers
from gateway.http.admin.groups.handlers import GroupsHandlers, group_operations
