"""The example of an internal service shows what the proxy tells it about the caller."""

import importlib.util
import json
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/internal_service.py"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Run the example; return what asks it as its nginx does."""
    spec = importlib.util.spec_from_file_location("internal_service", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    socket = tmp_path_factory.mktemp("service") / "service.sock"
    socket.write_text("what a process that was killed left behind")
    with module.Server(socket) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        assert stat.S_IMODE(socket.stat().st_mode) == 0o660
        transport = httpx2.HTTPTransport(uds=str(socket))
        with httpx2.Client(transport=transport, base_url="http://service.test") as client:
            yield client
        server.shutdown()
        thread.join()


def _text(page: httpx2.Response) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.text).split())


def test_it_greets_the_user_and_lists_the_headers_decoded(service: httpx2.Client) -> None:
    page = service.get(
        "/", headers={"remote-user": "zo%C3%AB", "Remote-Groups": "/a%2Cb,/staff/%25"}
    )
    assert page.status_code == 200
    assert "Hello, zoë" in _text(page)
    assert "Remote-Groups /a,b, /staff/%" in _text(page)
    assert "Remote-Email" not in _text(page)


def test_a_name_is_text_and_never_markup(service: httpx2.Client) -> None:
    sent = {"Remote-User": "<script>", "Remote-Email": "%3Cscript%3E", "X-Realmgate-Realm": "<b>"}
    page = service.get("/", headers=sent)
    assert "<script" not in page.text
    assert "<b>" not in page.text
    assert page.text.count("&lt;script&gt;") == 3
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_machines_get_json(service: httpx2.Client) -> None:
    sent = {"X-Realmgate-Client": "demo-device", "X-Realmgate-Subject": "CN=a,O=b", "Other": "x"}
    answer = service.get("/api/status", headers=sent)
    assert answer.headers["content-type"].startswith("application/json")
    assert json.loads(answer.content) == {
        "status": "running",
        "caller": {"X-Realmgate-Client": "demo-device", "X-Realmgate-Subject": "CN=a,O=b"},
    }


@pytest.mark.parametrize("path", ["/public", "/public/", "/public?a=b"])
def test_the_public_page_says_what_it_received(service: httpx2.Client, path: str) -> None:
    assert "with your request: none." in _text(service.get(path))
    named = service.get(path, headers={"Remote-User": "root"})
    assert "with your request: Remote-User." in _text(named)


def test_the_page_has_its_style_if_the_rules_admit_everyone(
    service: httpx2.Client,
) -> None:
    style = service.get("/public/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert 'href="/public/style.css"' in service.get("/").text


def test_other_addresses_are_a_page_that_leads_back(service: httpx2.Client) -> None:
    page = service.get("/nothing")
    assert page.status_code == 404
    assert "There is no such page" in _text(page)
