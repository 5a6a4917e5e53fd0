"""What operators see of a running gateway: log lines, metrics and traces."""
