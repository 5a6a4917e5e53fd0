"""No identity header of a caller reaches a service, in no spelling, behind no proxy.

Each name of the list, each family with another ending, in every spelling: a request either reaches
the service without the header, or is refused. attacks: A4, B6
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from gateway.forward_auth.identity_headers import FAMILIES, REMOVED, SET_BY_PROXY, is_unremovable
from scripts import removed_headers
from tests.support.edge_certificates import EdgeCertificates
from tests.support.guarded_edge import GuardedEdge, start_guarded_edge
from tests.support.guarding_proxies import GuardingProxy, start_proxy
from tests.support.protected_sites import HOST, Protected, start_protected
from tests.support.proxy_process import OTHER_PROXIES
from tests.support.spellings import spellings

ROOT: Final = Path(__file__).resolve().parents[2]
_FEW: Final = 5
FORGED: Final = "forged-by-the-caller"
ENDINGS: Final = tuple(
    f"{text}{'' if text.endswith('-') else '-'}Unlisted"
    for family in FAMILIES
    for text in family.beginnings
)
CORPUS: Final = (
    *("X-Auth-Request-Id-Token", "X-Pomerium-Claim-Team", "X-authentik-meta-foo"),
    *("X-Remote-Extra-Scopes", "X-WEBAUTH-ORG", "X-Goog-Authenticated-User-Groups"),
    *("X-MS-CLIENT-PRINCIPAL-ROLES", "X-Vouch-IdP-Claims-Family-Name", "X-Token-User-Id"),
    *("X-Authenticated-Roles", "OIDC_CLAIM_sub", "REMOTE_USER"),
)
"""Headers of other products that the list has in no line of its own."""
PASSED: Final = "X-Pomerium-Claim-Plant"
HARMLESS: Final = (
    *("X-Api-Key", "X-Auth-Token", "X-User-Id", "X-Requested-With", "X-Client-Version"),
    *("Traceparent", "X-Correlation-Id", "X-Csrf-Token", "Accept-Language", "X-Forwarded-Country"),
)
UNDERSCORES_ON: Final = {
    "realmgate/server.conf": ("underscores_in_headers off;", "underscores_in_headers on;"),
    "realmgate/guard-pages.conf": ("underscores_in_headers off;", "underscores_in_headers on;"),
}


def _spellings(name: str) -> Iterator[str]:
    """Yield the name as it is, and with other separators: all of them, the first and the last."""
    words = re.split("[-_]", name)
    yield name
    yield name.upper()
    yield "_".join(words)
    for place in {1, len(words) - 1} if len(words) > 1 else ():
        yield "-".join(words[:place]) + "_" + "-".join(words[place:])


def _every_spelling(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(spelling for name in names for spelling in _spellings(name)))


LISTED: Final = _every_spelling((*REMOVED, *SET_BY_PROXY))
NAMES: Final = (*LISTED, *_every_spelling((*ENDINGS, *CORPUS)))


def test_every_file_has_the_list_of_the_gateway() -> None:
    for path, text in removed_headers.made().items():
        assert path.read_text(encoding="utf-8") == text, "python -m scripts.removed_headers"


def test_every_spelling_is_removed_by_its_name_or_refused() -> None:
    listed = {name.lower() for name in (*REMOVED, *SET_BY_PROXY)}
    for name in NAMES:
        assert is_unremovable(name.lower().encode()) is (name.lower() not in listed), name
    for name in HARMLESS:
        for spelling in _spellings(name):
            assert not is_unremovable(spelling.lower().encode()), spelling
    separators = ("-", "_", ".", "~")
    for parts in itertools.product(("x",), separators, ("forwarded",), separators, ("user",)):
        spelled = "".join(parts)
        assert is_unremovable(spelled.encode()) is (spelled != "x-forwarded-user"), spelled


def _arriving(
    proxy: GuardingProxy, names: Sequence[str], path: str = "/home/", first: str | None = None
) -> set[str]:
    """Return the names that arrive at the service, sent in portions.

    A portion that is refused is sent in smaller ones: few names are refused for each other. With
    `first` another header of the same name, with hyphens and this value, precedes each.
    """
    service, token = proxy.protected.service, proxy.protected.token("ada")["access_token"]
    passed: set[str] = set()
    portions = [names[start : start + 40] for start in range(0, len(names), 40)]
    while portions:
        portion = portions.pop()
        service.forget()
        lines = [f"{name}: {FORGED}" for name in portion]
        if first is not None:
            before = (f"{name.replace('_', '-')}: {first}" for name in portion)
            lines = [*itertools.chain.from_iterable(zip(before, lines, strict=True))]
        answer = proxy.ask(path, *lines, token=token)
        assert answer.status in {200, 400, 403}
        assert len(service.received) == (answer.status == 200)
        if answer.status == 200:
            received = service.last
            passed |= {name for name, value in received.headers if FORGED in value}
            assert received.all("Remote-User") == (["ada"] if path == "/home/" else [])
        elif len(portion) > _FEW:
            half = len(portion) // 2
            portions += [portion[:half], portion[half:]]
    return passed


@contextmanager
def _nginx(
    folder: Path, certificates: EdgeCertificates, *, cached: bool = False
) -> Iterator[GuardingProxy]:
    """Run nginx whose default server lets underscores in."""
    edge = {"changes": UNDERSCORES_ON, "cached": cached}
    with start_protected(folder, certificates, edge, guard_passed_headers=PASSED) as protected:
        yield GuardingProxy("nginx", protected.nginx.site.https_port, HOST, protected)


@pytest.mark.parametrize("cached", [False, True], ids=["asked each time", "decisions kept"])
def test_no_name_passes_nginx_that_lets_underscores_in(
    tmp_path: Path, edge_certificates: EdgeCertificates, *, cached: bool
) -> None:
    with _nginx(tmp_path, edge_certificates, cached=cached) as proxy:
        assert _arriving(proxy, ["X_Harmless", *HARMLESS]) == {"X_Harmless", *HARMLESS}
        names = LISTED if cached else NAMES
        assert _arriving(proxy, names) == set()
        assert _arriving(proxy, names[:200], "/public/") == set()
        # The operator lets one pass; another spelling of it does not.
        assert _arriving(proxy, [PASSED]) == {PASSED}
        assert cached or _arriving(proxy, [PASSED.replace("-", "_")]) == set()
        refused = proxy.ask("/home/", f"X_Forwarded_User: {FORGED}")
        assert (refused.status, refused.headers["x-realmgate-reason"]) == (403, "ambiguous_request")


@pytest.fixture
def allowing(tmp_path: Path, edge_certificates: EdgeCertificates) -> Iterator[GuardedEdge]:
    """Run nginx that lets underscores in and keeps decisions; its gateway allows everything."""
    changes = UNDERSCORES_ON
    with start_guarded_edge(tmp_path, edge_certificates, cached=True, changes=changes) as edge:
        yield edge


_BESIDE: Final = ("", "0", FORGED)
"""Values of a header before another one of its name; nginx takes the first two for none."""


def test_a_kept_decision_passes_no_spelling_and_no_repetition(allowing: GuardedEdge) -> None:
    """Every mixture of hyphens and underscores, alone and behind the name itself."""
    pairs = [
        (name, spelling.lower() if place % 2 else spelling)
        for name in (*REMOVED, *SET_BY_PROXY)
        for place, spelling in enumerate(spellings(name))
        if spelling.lower() != name.lower()
    ]
    attempts = [*((None, value) for value in _BESIDE), *((first, FORGED) for first in _BESIDE)]
    for (start, (first, value)), http2 in itertools.product(
        itertools.product(range(0, len(pairs), 80), attempts), (False, True)
    ):
        sent = [("Host", HOST), ("X_Harmless", value or FORGED)]
        for name, spelling in pairs[start : start + 80]:
            sent += [] if first is None else [(name, first), (spelling, first)]
            sent.append((spelling, value))
        with allowing.nginx.client(http2=http2) as client:
            assert client.get(f"{allowing.nginx.https}/", headers=sent).status_code == 200
        received = allowing.service.last
        assert received.all("X_Harmless")
        tried = {spelling.lower() for _, spelling in pairs}
        assert {name for name, _ in received.headers if name.lower() in tried} == set()
        removed = {name.lower() for name in REMOVED}
        assert {name for name, _ in received.headers if name.lower() in removed} == set()
        forged = {name for name, text in received.headers if text in {"0", FORGED}}
        assert {name.lower() for name in forged} == {"x_harmless"}


def test_a_listed_header_with_a_value_bypasses_the_cache(
    allowing: GuardedEdge,
) -> None:
    """A location may let the caller's own header pass: a proxy in front of nginx sets it."""
    with allowing.nginx.client() as client:
        for name, value in itertools.product((*REMOVED, *SET_BY_PROXY, "DPoP"), ("0", "x")):
            for spelling in dict.fromkeys((name, name.replace("-", "_"))):
                if spelling == "X_Forwarded_For":
                    continue  # nginx keeps a list of this header, with hyphens alone
                allowing.gateway.received.clear()
                for _ in range(2):
                    sent = {"Host": HOST, spelling: value}
                    client.get(f"{allowing.nginx.https}/", headers=sent)
                assert len(allowing.gateway.received) == 2, (spelling, value)


def test_no_name_passes_nginx_as_shipped(protected: Protected) -> None:
    proxy = GuardingProxy("nginx", protected.nginx.site.https_port, HOST, protected)
    assert _arriving(proxy, NAMES) == set()
    assert _arriving(proxy, HARMLESS) == set(HARMLESS)


@pytest.mark.parametrize("name", OTHER_PROXIES)
def test_no_name_passes_another_proxy(open_site: Protected, name: str) -> None:
    with start_proxy(name, HOST, open_site) as proxy:
        assert {each.lower() for each in _arriving(proxy, NAMES)} == set()
        assert {each.lower() for each in _arriving(proxy, NAMES[:200], "/public/")} == set()
        for first in ("", "0"):
            assert {each.lower() for each in _arriving(proxy, LISTED, first=first)} == set()
        arrived = {each.lower() for each in _arriving(proxy, HARMLESS)}
        lost = {"x-forwarded-country", "x-client-version"}
        assert {each.lower() for each in HARMLESS} - arrived <= lost
