"""A server of documents of clients: key sets, request objects, lists of redirect URIs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from tests.support.loopback_server import serving


@dataclass
class ClientDocuments:
    """Serves `documents` by path; `asked` are the paths of all requests."""

    url: str
    documents: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@contextmanager
def serving_documents(host: str = "127.0.0.1", port: int = 0) -> Iterator[ClientDocuments]:
    """Serve on the loopback interface, which the gateway of the tests may fetch from."""
    served = ClientDocuments("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            found = served.documents.get(self.path)
            self.send_response(HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK)
            self.end_headers()
            self.wfile.write(found or b"")

    with serving(Handler, host, port) as url:
        served.url = url
        yield served
