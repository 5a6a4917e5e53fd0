"""The HTTP server of a worker: `serve` runs one ASGI application on one socket.

Hypercorn accepts the connections. Requests that arrive whole are answered by this package, all
others by Hypercorn through h11. `overrides.py` lists what this package replaces in Hypercorn and
h11, and the versions it was checked against.
"""

from gateway.supervisor.server.connections import KEEP_ALIVE, Serving, serve
