"""The realm's headers for browsers on every response. Specification 2.2; Keycloak: 0.3, 14."""

import httpx2

from tests.support.wire import SECRET, Wire, protocol

DEFAULTS = {
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=31536000; includeSubDomains",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "x-robots-tag": "none",
}


def _sent(response: httpx2.Response) -> dict[str, str]:
    return {name: response.headers[name] for name in DEFAULTS if name in response.headers}


def test_they_are_on_success_and_on_every_kind_of_error(wire: Wire) -> None:
    responses = [
        wire.token_request(),
        wire.post("token", {}),
        wire.token_request({"client_secret": "x"}),
        wire.token_request(realm="off"),
        wire.token_request(realm="nowhere"),
        wire.post("token", "a=%zz"),
        wire.post("token", "a=b", Content_Type="text/plain"),
        wire.http.put(protocol("wire", "token")),
        wire.get(protocol("wire", "certs")),
        wire.get("/realms/wire"),
        wire.get("/realms/wire/.well-known/openid-configuration"),
        wire.introspect("x"),
        wire.post("revoke", {"client_id": "svc", "client_secret": SECRET, "token": "x"}),
    ]
    assert [_sent(response) for response in responses] == [DEFAULTS] * len(responses)


def test_headers_are_sent_as_configured_and_empty_ones_omitted(wire: Wire) -> None:
    sent = _sent(wire.get("/realms/framed"))
    assert sent["x-frame-options"] == "SOMEORIGIN"
    assert "x-robots-tag" not in sent


def test_policies_for_pages_are_not_sent_with_json(wire: Wire) -> None:
    headers = wire.token_request(realm="framed").headers
    assert "content-security-policy" not in headers
    assert "content-security-policy-report-only" not in headers


def test_they_are_on_responses_without_a_body(wire: Wire) -> None:
    options = wire.http.options(protocol("wire", "token"))
    assert (options.status_code, options.content) == (200, b"")
    assert _sent(options) == DEFAULTS
    revoked = wire.post(
        "revoke", {"client_id": "svc", "client_secret": SECRET, "token": wire.token("svc")}
    )
    assert revoked.headers["x-frame-options"] == "SAMEORIGIN"
