"""Health, metrics and the lifecycle of a worker, as its management listener shows them."""
