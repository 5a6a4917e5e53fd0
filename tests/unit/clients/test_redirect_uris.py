"""Redirect URIs against a corpus with Keycloak's own verdicts, and properties of the matcher.

Each line of `redirect_uris.jsonl` has the verdict that is expected here and the one of Keycloak
26.7.3, measured at its authorization endpoint. `padding` is a number of letters behind the URI;
`{base}` is the address of the server. attacks C1, C2, S11
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.clients import RedirectUris

BASE = "https://gateway.test"
CORPUS: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("redirect_uris.jsonl").read_text("utf-8").splitlines()
]
REGISTERED = RedirectUris(patterns=("https://app.example/app/*", "https://app.example/exact"))
PIECES = (
    *("https://", "http://", "//", "/", "\\", "@", ":", "app.example", "evil.example", "app", ".."),
    *(".", "%2e", "%2E", "%252e", "%2f", "%5c", "%00", ";", "?", "#", "&", "=", "*", "exact", "x"),
    *("javascript:", "data:", " ", "\t", "\n", "é", "[", "]", "443", "code=x"),
)
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def accepts(line: dict[str, Any], uri: str) -> bool:
    registered = RedirectUris(line.get("root", ""), tuple(line["patterns"]))
    return registered.match(uri, BASE)


@pytest.mark.parametrize("group", sorted({line["group"] for line in CORPUS}))
def test_a_uri_has_its_verdict(group: str) -> None:
    wrong = []
    for line in CORPUS:
        uri = line["uri"].replace("{base}", BASE) + "a" * line.get("padding", 0)
        if line["group"] == group and accepts(line, uri) != (line["expected"] == "accepted"):
            wrong.append(uri)
    assert wrong == []


def test_the_corpus_differs_from_keycloak_only_where_it_says_why() -> None:
    assert len(CORPUS) >= 300
    differing = [line for line in CORPUS if line["expected"] != line["keycloak"]]
    assert differing == [line for line in CORPUS if "difference" in line]
    assert {line["expected"] for line in differing} == {"refused"}


@given(HOSTILE)
def test_an_accepted_uri_stays_at_the_registered_host_and_path(text: str) -> None:
    for uri in (text, f"https://app.example/app/{text}", f"https://app.example{text}"):
        if not REGISTERED.match(uri, BASE):
            continue
        parts = urlsplit(uri)
        assert (parts.scheme, parts.netloc) == ("https", "app.example")
        assert parts.path in {"/exact", "/app"} or parts.path.startswith("/app/")
        assert not {".", ".."} & set(parts.path.split("/"))
        assert uri.isascii()
        assert uri.isprintable()
        assert " " not in uri


@given(st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    anywhere = RedirectUris(patterns=("*", text))
    if anywhere.match(text, BASE):
        assert urlsplit(text).scheme not in {"", "javascript", "data", "vbscript", "file"}


@pytest.mark.parametrize("name", ["code", "STATE", "%73tate", "iss", "response", "access_token"])
@pytest.mark.parametrize(
    "mark", ["?a=b&", "#", "?", "#a=b&", "#/route?", "#!/route?a=b&", "#/route?a?b&", "?a#/b?c?"]
)
def test_response_parameters_may_be_there_if_the_client_says_so(name: str, mark: str) -> None:
    """Keycloak: 26.7, `allow.oidc.params.in.redirect.uris`."""
    uri = f"https://app.example/app/{mark}{name}=x"
    assert not REGISTERED.match(uri, BASE)
    allowed = RedirectUris(patterns=REGISTERED.patterns, may_hold_response=True)
    assert allowed.match(uri, BASE)


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (("https://app.example/cb",), "https://app.example/cb"),
        (("https://app.example/app/*",), "https://app.example/app"),
        (("/cb",), "https://root.example/cb"),
        (("https://a.example/cb", "https://b.example/cb"), None),
        ((), None),
        (("*",), None),
        (("javascript:alert(1)",), None),
    ],
)
def test_a_request_may_leave_out_the_only_one(patterns: tuple[str, ...], found: str | None) -> None:
    assert RedirectUris("https://root.example", patterns).only(BASE) == found


AT_LOGOUT = "https://logout.example/*"


@pytest.mark.parametrize(
    ("after_logout", "app", "other"),
    [
        ((), True, False),
        (("+",), True, False),
        (("-",), False, False),
        ((AT_LOGOUT,), False, True),
        (("+", AT_LOGOUT), True, True),
        ((AT_LOGOUT, "+"), False, True),
        (("-", AT_LOGOUT), False, False),
    ],
)
def test_a_logout_leads_where_the_client_says(
    after_logout: tuple[str, ...], *, app: bool, other: bool
) -> None:
    """Keycloak: 12.6; the lists with `+` and `-` were measured (26.7.3)."""
    client = RedirectUris(patterns=("https://app.example/*",), after_logout=after_logout)
    assert client.match_after_logout("https://app.example/x", BASE) is app
    assert client.match_after_logout("https://logout.example/x", BASE) is other
    assert not client.match_after_logout("https://evil.example/", BASE)
    assert not client.match_after_logout("https://logout.example/../x", BASE)
