"""Where state lies: SQL for what must last, Redis for what must not, memory for what is hot."""
