"""Which URLs of others a page shows. attacks C2."""

import pytest

from gateway.http.pages.content_security_policy import origin_of, safe_image, safe_link, safe_target

DANGEROUS = (
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://a.test/1",
)


@pytest.mark.parametrize("url", [*DANGEROUS, "//evil.test", "/\\evil.test", "mailto:a@b", "x", ""])
def test_a_link_is_http_or_a_path(url: str) -> None:
    assert safe_link(url) == ""


@pytest.mark.parametrize("url", ["https://a.test/x?y#z", "http://[::1]:8080/", "/realms/demo"])
def test_links_stay_as_they_are(url: str) -> None:
    assert safe_link(url) == url


@pytest.mark.parametrize("url", DANGEROUS)
def test_a_page_continues_to_nothing_that_a_browser_runs(url: str) -> None:
    assert safe_target(url) == ""


def test_a_native_application_may_have_a_scheme_of_its_own() -> None:
    assert safe_target("com.example.app:/out?state=1") == "com.example.app:/out?state=1"


@pytest.mark.parametrize(
    ("url", "loaded"),
    [
        ("https://a.test/logo.svg", True),
        ("/logo.svg", True),
        ("data:image/png;base64,aGk=", True),
        ("http://a.test/logo.svg", False),
        ("//a.test/logo.svg", False),
        ("data:image/svg+xml,<svg onload=x>", False),
        ("data:text/html;base64,aGk=", False),
        ('https://a.test/"onerror=x', False),
        ("https://user@a.test/x", False),
        ("data:image/png;base64," + "a" * 40_000, False),
    ],
)
def test_an_image_is_https_a_path_or_embedded(url: str, *, loaded: bool) -> None:
    assert bool(safe_image(url)) is loaded


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://a.test/x", "https://a.test"),
        ("https://user:pass@a.test:8443/x", "https://a.test:8443"),
        ("http://[::1]:80/", "http://[::1]:80"),
        ("https://a.test; script-src *", None),
        ("https://a.test,b.test/", None),
        ("https:///x", None),
        ("https://a.test:99999999/", None),
        ("ftp://a.test/", None),
    ],
)
def test_the_origin_of_a_url_can_be_named_in_a_policy(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin
