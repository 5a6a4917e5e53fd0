"""Static files of the pages: kept for ever by browsers, and nothing else below their URL."""

import pytest

from gateway.http.pages import load_designs
from tests.support.wire import Wire

VERSION = load_designs(None).version
KEPT = "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("realmgate.css", "text/css;charset=utf-8"),
        ("proceed.js", "text/javascript;charset=utf-8"),
        ("favicon.svg", "image/svg+xml"),
        ("accent/0f766e.css", "text/css;charset=utf-8"),
    ],
)
def test_a_file_is_kept_for_a_year(wire: Wire, path: str, media_type: str) -> None:
    found = wire.get(f"/resources/{VERSION}/{path}")
    assert (found.status_code, found.headers["content-type"]) == (200, media_type)
    assert found.headers["cache-control"] == KEPT
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.content


def test_the_prefix_of_older_clients_leads_there_too(wire: Wire) -> None:
    assert wire.get(f"/auth/resources/{VERSION}/realmgate.css").status_code == 200


def test_a_url_of_another_release_gets_the_file_uncached(wire: Wire) -> None:
    found = wire.get(f"/resources/{'0' * 16}/realmgate.css")
    assert (found.status_code, found.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.parametrize(
    "path",
    [
        f"/resources/{VERSION}/",
        f"/resources/{VERSION}/views.py",
        f"/resources/{VERSION}/../views.py",
        f"/resources/{VERSION}/%2e%2e/views.py",
        f"/resources/{VERSION}/..%2fviews.py",
        f"/resources/{VERSION}//etc/passwd",
        f"/resources/{VERSION}/accent/0F766E.css",
        f"/resources/{VERSION}/accent/zzzzzz.css",
        "/resources/x/realmgate.css",
        "/resources/",
    ],
)
def test_anything_else_is_not_found(wire: Wire, path: str) -> None:
    found = wire.get(path)
    assert found.status_code == 404
    assert "cache-control" not in found.headers


def test_they_are_read_only(wire: Wire) -> None:
    path = f"/resources/{VERSION}/realmgate.css"
    assert wire.http.head(path).status_code == 200
    assert wire.http.post(path).status_code == 405
