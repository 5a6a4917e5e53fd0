"""The admin API: /admin/realms/{realm}/..., in Keycloak's shape."""
