"""The values and ports of the product: standard library only, no I/O, no framework."""
