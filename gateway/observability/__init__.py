"""Log lines, metrics and traces of a running gateway."""
