"""The layers between server and endpoints: pure ASGI classes."""
