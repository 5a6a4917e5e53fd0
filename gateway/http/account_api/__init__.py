"""The JSON API of a user's own account, at /realms/{realm}/account. Keycloak: 17."""
