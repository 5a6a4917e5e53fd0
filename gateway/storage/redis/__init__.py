"""The short-lived store: Redis 7.0 or later, or Valkey."""
