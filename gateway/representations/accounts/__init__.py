"""JSON of a user's own account."""
