"""/realms/{realm}/clients-registrations: where clients register themselves. Keycloak: 7.3."""
