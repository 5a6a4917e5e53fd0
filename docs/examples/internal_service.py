"""An internal service that knows nothing of OAuth: it greets the user whom its proxy names.

It has no login, sessions or tokens. nginx asks Realmgate about each request and sets the identity
headers (docs/forward-auth.md). So nginx alone may reach it, here by the permissions of its socket:

    python3 internal_service.py /run/app/service.sock

`/` is for signed-in users, `/api/status` for machines, `/public` for every caller: the rules of the
site say so, and not this file. The only prerequisite is Python.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from urllib.parse import unquote, urlsplit

USER = "Remote-User"
OF_USERS = (USER, "Remote-Email", "Remote-Groups", "Remote-Roles")
OF_REQUESTS = (
    *("X-Realmgate-Credential", "X-Realmgate-Certificate", "X-Realmgate-Client"),
    *("X-Realmgate-Realm", "X-Realmgate-Subject", "X-Realmgate-Token"),
)
LISTS = {"Remote-Groups", "Remote-Roles"}
TIMEOUT_SECONDS = 30
OF_THE_GROUP = 0o660
STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'self';"
    " base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


class Service(BaseHTTPRequestHandler):
    """Answers one connection of nginx."""

    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT_SECONDS

    def do_GET(self) -> None:
        """Answer with a page, or with JSON for machines."""
        path, identity = urlsplit(self.path).path, _identity(self.headers.items())
        if path == "/":
            self._page(_user_page(identity))
        elif path == "/api/status":
            self._send("application/json", json.dumps({"status": "running", "caller": identity}))
        elif path in {"/public", "/public/"}:
            self._page(_public_page(identity))
        elif path == "/public/style.css":
            self._send("text/css", STYLE)
        else:
            self._page(_NOT_FOUND, HTTPStatus.NOT_FOUND)

    def _page(self, content: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send("text/html", _FRAME.format(content=content), status)

    def _send(self, media_type: str, text: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{media_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - Python's name
        """Log nothing: the access log is nginx's."""


class Server(ThreadingMixIn, UnixStreamServer):
    """Serves on a unix socket, which its user and its group can open."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        super().__init__(str(path), Service)
        path.chmod(OF_THE_GROUP)


def _identity(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the identity headers that came, decoded, in the order of the documentation."""
    received = {name.lower(): value for name, value in headers}
    return {
        name: _decoded(name, received[name.lower()])
        for name in (*OF_USERS, *OF_REQUESTS)
        if name.lower() in received
    }


def _decoded(name: str, value: str) -> str:
    return ", ".join(map(unquote, value.split(","))) if name in LISTS else unquote(value)


def _user_page(identity: Mapping[str, str]) -> str:
    return _SIGNED_IN.format(
        name=escape(identity.get(USER, "stranger")),
        of_user=_listed(identity, OF_USERS),
        of_request=_listed(identity, OF_REQUESTS),
    )


def _public_page(identity: Mapping[str, str]) -> str:
    received = ", ".join(identity) or "none"
    return _PUBLIC.format(received=escape(received))


def _listed(identity: Mapping[str, str], names: Iterable[str]) -> str:
    return "".join(
        f"<div><dt>{name}</dt><dd>{escape(identity[name])}</dd></div>"
        for name in names
        if name in identity
    )


def main() -> None:
    """Serve until the process ends."""
    with Server(Path(sys.argv[1])) as server:
        server.serve_forever()


_FRAME = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Internal service</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/public/style.css"><main>
<header><svg width="28" height="28" viewBox="0 0 28 28" aria-hidden="true">
<rect width="28" height="28" rx="7"/><path d="M8 19v-5M14 19V9M20 19v-7"/></svg>
<p>Internal service</p></header>{content}</main>
"""
_SIGNED_IN = """<section><div class="greeting"><h1>Hello, {name}</h1>
<form action="/.realmgate/sign-out"><input type="hidden" name="rd" value="/public">
<button class="quiet">Sign out</button></form></div>
<p>This service has no login, no sessions and no tokens. Your request came with these headers: nginx
sets them after Realmgate has said who you are.</p>
<h2>Who you are</h2><dl class="headers">{of_user}</dl>
<h2>How you are known</h2><dl class="headers">{of_request}</dl></section>"""
_PUBLIC = """<section><h1>This page is public</h1>
<p>The rules of this site let every caller see it, and the service receives nothing about you.
Identity headers that came with your request: {received}.</p>
<form action="/"><button>Sign in</button></form></section>"""
_NOT_FOUND = """<section><h1>There is no such page</h1>
<p>Nothing is at this address.</p><form action="/"><button>Start page</button></form></section>"""

if __name__ == "__main__":
    main()
