"""Which decisions have a line in the gateway's log: those that the proxy's log does not explain."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.protected_sites import HOST, OPEN_HOST, PROXY_SECRET, Protected

_OPEN_SITE = f"""
[[sites]]
name = "open"
hosts = ["{HOST}"]
realms = ["master"]
rules = [{{ name = "all", paths = ["/*"], anonymous = true }}]
"""


def _ask(
    gateway: Gateway, path: str, request_id: str, *left_out: str, **more: str
) -> httpx2.Response:
    """Ask as nginx does, without the headers `left_out`."""
    headers = {
        "X-Realmgate-Proxy-Secret": PROXY_SECRET,
        "X-Original-Request": f"GET {path} HTTP/1.1",
        "X-Forwarded-Host": HOST,
        "X-Realmgate-Server": HOST,
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "203.0.113.9",
        "X-Request-Id": request_id,
    }
    sent = {name: value for name, value in headers.items() if name not in left_out}
    with gateway.client() as http:
        return http.get("/.realmgate/guard/nginx", headers=sent | more)


def _lines(gateway: Gateway, request_id: str) -> list[Mapping[str, Any]]:
    return [line for line in gateway.log() if line.get("request_id") == request_id]


def test_refusals_are_logged_and_allowed_requests_are_not(
    protected: Protected,
) -> None:
    passes, refused = "a5" * 16, "b6" * 16
    sent = {"Authorization": f"Bearer {protected.token('ada')['access_token']}"}
    assert _ask(protected.gateway, "/home/", passes, **sent).status_code == 200
    assert _ask(protected.gateway, "/home/", refused).status_code == 401
    (line,) = until(lambda: _lines(protected.gateway, refused), "the refusal is not in the log")
    assert (line["level"], line["reason"]) == ("info", "no credential was sent")
    assert _lines(protected.gateway, passes) == []


def test_the_log_says_what_a_proxy_does_not_report(protected: Protected) -> None:
    """A configuration of a former version, or a server of nginx that no site has."""
    for number, (server, part) in enumerate(
        {
            None: "the proxy does not send the header x-realmgate-server",
            "*.example.test:443": "no site has the host *.example.test, which is the name of the",
            "_:443": "the proxy's server has no name that a site could have",
            f"{OPEN_HOST}:443": f"the proxy's server {OPEN_HOST} is not for the site app",
        }.items()
    ):
        request_id = f"d{number}" * 16
        sent = {} if server is None else {"X-Realmgate-Server": server}
        left_out = ("X-Realmgate-Server",) if server is None else ()
        found = _ask(protected.gateway, "/public/", request_id, *left_out, **sent)
        assert found.status_code == 403
        (line,) = until(partial(_lines, protected.gateway, request_id), "the refusal is not logged")
        assert (line["level"], part in line["reason"]) == ("info", True), line["reason"]


def test_the_log_has_every_decision_at_the_level_debug(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(_OPEN_SITE)
    passes = "c7" * 16
    with start_gateway(
        tmp_path,
        guard_file=tmp_path / "rules.toml",
        proxy_secret=PROXY_SECRET,
        log_level="debug",
    ) as gateway:
        assert _ask(gateway, "/home/", passes).status_code == 200
        (line,) = until(lambda: _lines(gateway, passes), "the decision is not in the log")
    assert (line["level"], line["status"]) == ("debug", 200)
