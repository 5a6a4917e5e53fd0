"""Health, metrics and the lifecycle of a worker, on its management listener."""
