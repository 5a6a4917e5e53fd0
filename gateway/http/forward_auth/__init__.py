"""The endpoint that proxies ask whether a request to a protected site may pass."""
