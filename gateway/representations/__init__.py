"""Wire shapes: Keycloak's JSON representations read into domain values and written back."""
