"""What every request passes on its way to an endpoint: pure ASGI classes."""
