"""A damaged certificate in the proxy's header is refused with a reason.

attacks: A18
"""

import base64
from urllib.parse import quote, unquote

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.support.certificates import Zoo
from tests.support.wire import Wire, protocol

FORM = {"grant_type": "client_credentials", "client_id": "device-1"}
PLACE = st.integers(0, 9_999)
SHARED = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
REASONS = {400: "invalid_request", 401: "invalid_client"}


def _require_refusal(wire: Wire, value: bytes) -> None:
    """Send the header as a proxy that verified the certificate."""
    headers = [(b"ssl-client-cert", value), (b"ssl-client-verify", b"SUCCESS")]
    response = wire.http.post(protocol("wire", "token"), data=FORM, headers=headers)
    found = response.json()
    assert found["error"] == REASONS[response.status_code]
    assert found["error_description"]


@SHARED
@given(changes=st.lists(st.tuples(PLACE, st.integers(0, 255)), max_size=4), end=PLACE)
def test_a_damaged_certificate_is_refused_with_a_reason(
    wire: Wire, certificate_zoo: Zoo, changes: list[tuple[int, int]], end: int
) -> None:
    """Bytes are changed, the end may be missing. attacks: A18."""
    der = certificate_zoo["valid"].der
    damaged = bytearray(der)
    for place, byte in changes:
        damaged[place % len(der)] = byte
    if end < len(der):
        del damaged[end:]
    assume(damaged != der)
    lines = base64.encodebytes(damaged).decode()
    pem = f"-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n"
    _require_refusal(wire, quote(pem, safe="").encode())


@SHARED
@given(
    at=PLACE, put=st.text('%+-=" 0aZ\t~é', max_size=4), cut=st.integers(0, 4), twice=st.booleans()
)
def test_a_damaged_header_is_refused_with_a_reason(
    wire: Wire, at: int, put: str, cut: int, *, twice: bool
) -> None:
    """Its text is changed, or is there twice. attacks: A18."""
    value = wire.certificates["valid"]
    at %= len(value)
    damaged = f"{value[:at]}{put}{value[at + cut :]}".strip(" \t") * (1 + twice)
    assume(_text(damaged) != _text(value))
    _require_refusal(wire, damaged.encode("latin-1"))


def _text(value: str) -> str:
    """Return the PEM without white space and the quotes that may be around it."""
    return "".join(unquote(value).strip('"').split())
