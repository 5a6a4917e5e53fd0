"""The short-lived store: Redis 6 or later, or Valkey."""
