"""Clients that register themselves. Keycloak: clients-registrations; Spec: RFC 7591, RFC 7592."""
