"""What the log says of a request."""

import pytest

from tests.support.gateway_process import until
from tests.support.wire import PASSWORD, SECRET, Wire

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def _told(wire: Wire, request_id: str) -> dict[str, object]:
    lines = until(
        lambda: [line for line in wire.gateway.log() if line.get("request_id") == request_id],
        "the request is not in the log",
    )
    (line,) = lines
    return line


def test_the_callers_trace_is_named_in_the_log(wire: Wire) -> None:
    """W3C Trace Context §3.2: one trace through proxy, gateway and caller."""
    request_id = "7e" * 16
    traceparent = f"00-{TRACE}-00f067aa0ba902b7-01"
    wire.get("/realms/wire", X_Request_Id=request_id, traceparent=traceparent)
    assert _told(wire, request_id)["trace_id"] == TRACE


def test_a_request_without_a_trace_names_none(wire: Wire) -> None:
    request_id = "7f" * 16
    wire.get("/realms/wire", X_Request_Id=request_id, traceparent="nonsense")
    assert "trace_id" not in _told(wire, request_id)


@pytest.mark.parametrize(
    ("client", "method"),
    [
        ({"client_id": "app"}, "none"),
        ({"client_id": "svc", "client_secret": SECRET}, "client-secret"),
    ],
    ids=["public", "confidential"],
)
def test_the_log_names_how_the_client_proved_itself(
    wire: Wire, client: dict[str, str], method: str
) -> None:
    """A public client proves nothing, whatever its settings say."""
    request_id = f"{len(method):032x}"
    form = client | {"grant_type": "password", "username": "alice", "password": PASSWORD}
    answer = wire.post("token", form, realm="people", X_Request_Id=request_id)
    assert answer.status_code == 200
    assert _told(wire, request_id)["client_auth_method"] == method
