"""State: SQL for durable data, Redis for short-lived data, memory for frequent look-ups."""
