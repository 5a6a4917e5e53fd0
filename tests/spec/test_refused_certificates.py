"""A certificate that nginx forwards and the gateway refuses: the caller and the log get the reason.

The listener for self-signed certificates runs with `optional_no_ca`. Spec: RFC 8705 §2.2, §3
"""

from typing import Any

from tests.support.gateway_process import until
from tests.support.spec_stack import Stack, protocol
from tests.support.wire import PASSWORD, SECRET

AUTHORITY = "self-signed CA:TRUE"
"""What `openssl req -x509` makes without options."""
REASON = "it is an authority's certificate: self-signed with CA:TRUE"
REFUSED = f"Client Certification refused for MTLS HoK Token Binding: {REASON}"


def test_a_self_signed_authority_is_refused_with_its_reason(spec: Stack) -> None:
    form = {
        "grant_type": "password",
        "client_id": "bound-app",
        "client_secret": SECRET,
        "username": spec.fresh(),
        "password": PASSWORD,
    }
    url = f"{spec.nginx.self_signed}{protocol('spec')}/token"
    with spec.nginx.client(spec.certificates.pair(AUTHORITY)) as client:
        answer = client.post(url, data=form)
    assert answer.status_code == 400
    assert answer.json() == {"error": "invalid_request", "error_description": REFUSED}
    line = until(lambda: _logged(spec, answer.headers["x-request-id"]), "no log line")
    assert REASON in line["reason"]


def _logged(spec: Stack, request_id: str) -> dict[str, Any]:
    lines = spec.gateways[0].log()
    return next((line for line in lines if line.get("request_id") == request_id), {})
