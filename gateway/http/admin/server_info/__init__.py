"""GET /admin/serverinfo: what this server and its providers are. Keycloak: 7.5."""

from gateway.http.admin.server_info.operations import ServerInformation, server_operations
