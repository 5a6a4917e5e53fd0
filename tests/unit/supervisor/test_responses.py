"""A response is framed exactly once, and no part of it can be read as another response.

Spec: RFC 9112 §6, RFC 9110 §9.3.2; attacks: response splitting.
"""

from typing import Any

import h11
import pytest

from gateway.supervisor.server.whole_requests import (
    Ending,
    InvalidResponse,
    ResponseWriter,
    WholeRequest,
    date_line,
)

LENGTH = [(b"content-length", b"4")]


class Exchange:
    """An answer to a request, and what was written of it."""

    def __init__(self, method: str = "POST") -> None:
        """Ask by `method`."""
        self.method = method
        self.written: list[bytes] = []
        self.response = ResponseWriter(
            WholeRequest(method, b"/", [], b"asked"), self.write, Ending()
        )

    async def write(self, data: bytes) -> None:
        """Keep what is written."""
        self.written.append(data)

    async def start(self, headers: list[tuple[bytes, bytes]], status: int = 200) -> None:
        """Begin the answer."""
        message = {"type": "http.response.start", "status": status, "headers": headers}
        await self.response.send(message)

    async def body(self, data: bytes, *, more: bool = False) -> None:
        """Send a part of the body."""
        message = {"type": "http.response.body", "body": data, "more_body": more}
        await self.response.send(message)

    def read(self) -> tuple[Any, bytes]:
        """Return status line with headers, and the body, as a client reads them."""
        client = h11.Connection(h11.CLIENT)
        client.send(h11.Request(method=self.method, target="/", headers=[("host", "a")]))
        client.send(h11.EndOfMessage())
        client.receive_data(b"".join(self.written))
        response = client.next_event()
        parts = []
        while isinstance(part := client.next_event(), h11.Data):
            parts.append(bytes(part.data))
        assert isinstance(part, h11.EndOfMessage)
        assert client.trailing_data == (b"", False)
        return response, b"".join(parts)


async def test_head_and_body_leave_in_one_write() -> None:
    exchange = Exchange()
    await exchange.start(LENGTH)
    assert exchange.written == []
    await exchange.body(b"body")
    assert len(exchange.written) == 1
    response, body = exchange.read()
    assert (response.status_code, body) == (200, b"body")
    assert [name for name, _ in response.headers] == [b"content-length", b"date"]
    assert exchange.response.complete
    assert exchange.response.keeps_connection


async def test_a_body_without_a_length_comes_in_chunks() -> None:
    exchange = Exchange()
    await exchange.start([])
    await exchange.body(b"one", more=True)
    await exchange.body(b"", more=True)
    await exchange.body(b"two" * 100, more=True)
    await exchange.body(b"")
    assert exchange.read()[1] == b"one" + b"two" * 100


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_some_answers_have_no_body_whatever_is_sent(method: str, status: int) -> None:
    exchange = Exchange(method)
    await exchange.start([] if status != 200 else LENGTH, status)
    await exchange.body(b"body")
    response, body = exchange.read()
    assert (response.status_code, body) == (status, b"")
    assert b"transfer-encoding" not in dict(response.headers)


@pytest.mark.parametrize("wrong", [b"a\r\nb: c", b"a\nb", b"a\rb", b"a\0b", b"a\x0bb", b"a\x0cb"])
@pytest.mark.parametrize("in_name", [True, False])
async def test_a_header_cannot_end_its_line(wrong: bytes, *, in_name: bool) -> None:
    exchange = Exchange()
    with pytest.raises(InvalidResponse):
        await exchange.start([(wrong, b"value") if in_name else (b"name", wrong)])
    await exchange.start(LENGTH, 500)  # the application may still say what went wrong
    await exchange.body(b"body")
    assert exchange.read()[0].status_code == 500


@pytest.mark.parametrize("sent", [b"bod", b"body!"])
async def test_a_body_is_as_long_as_was_said(sent: bytes) -> None:
    exchange = Exchange()
    await exchange.start(LENGTH)
    with pytest.raises(InvalidResponse):
        await exchange.body(sent)
    assert exchange.written == []


@pytest.mark.parametrize("headers", [LENGTH, []])
async def test_a_second_answer_is_refused(headers: list[tuple[bytes, bytes]]) -> None:
    exchange = Exchange()
    await exchange.start(headers)
    with pytest.raises(InvalidResponse):
        await exchange.start(headers)
    await exchange.body(b"body")
    with pytest.raises(InvalidResponse):
        await exchange.body(b"body")
    assert len(exchange.written) == 1


async def test_a_body_before_its_head_is_refused() -> None:
    with pytest.raises(InvalidResponse):
        await Exchange().body(b"body")


async def test_silence_is_answered_with_500() -> None:
    exchange = Exchange()
    await exchange.response.finish()
    response, body = exchange.read()
    assert (response.status_code, body) == (500, b"")
    assert dict(response.headers)[b"connection"] == b"close"
    assert not exchange.response.keeps_connection


async def test_half_an_answer_ends_the_connection() -> None:
    exchange = Exchange()
    await exchange.start(LENGTH)
    await exchange.body(b"bo", more=True)
    await exchange.response.finish()
    assert exchange.written[0].endswith(b"\r\n\r\nbo")
    assert len(exchange.written) == 1
    assert not exchange.response.keeps_connection


@pytest.mark.parametrize("value", [b"close", b"Close", b"x, close"])
async def test_an_answer_may_end_its_connection(value: bytes) -> None:
    exchange = Exchange()
    await exchange.start([*LENGTH, (b"Connection", value)])
    await exchange.body(b"body")
    assert not exchange.response.keeps_connection


async def test_the_request_is_given_once_and_then_its_end() -> None:
    exchange = Exchange()
    assert await exchange.response.receive() == {
        "type": "http.request",
        "body": b"asked",
        "more_body": False,
    }
    await exchange.start(LENGTH)
    await exchange.body(b"body")
    assert await exchange.response.receive() == {"type": "http.disconnect"}


def test_the_date_is_written_as_http_wants_it() -> None:
    assert date_line(784111777) == b"Sun, 06 Nov 1994 08:49:37 GMT"
