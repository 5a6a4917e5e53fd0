"""The revocation of a token ends every token that was exchanged from it, through every use.

A chain of exchanges: `app` received the first token, `api` and `target` exchange in turn. A
revocation ends the rest of the chain and leaves what was before it, and other exchanges.
Spec: RFC 7009 §2.1, RFC 8693; Keycloak: 12.5
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.permitted_uses import USER, Permitted, permitting_realm, permitting_site
from tests.support.sign_in_browser import SignInBrowser, web_client
from tests.support.wire import audience, claims_of

_TYPE: Final = "urn:ietf:params:oauth:token-type:"
_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_USES: Final = (
    *("introspection", "userinfo", "admin API", "account API", "site by bearer"),
    "token exchange",
)
_CHAIN: Final = ("app", "api", "target", "api")
"""The client of each token: the first was issued for a code, each next one was exchanged."""
_AUDIENCES: Final = ("app", "api", "target", "account")


def _settings(name: str, site: str) -> dict[str, Any]:
    made = {**permitting_realm(name, site), "accessTokenLifespan": 300}
    exchanges = next(one for one in made["clients"] if one["clientId"] == "api")["attributes"]
    mappers = [audience(each) for each in _AUDIENCES]
    made["clients"] = [
        {**client, "protocolMappers": mappers} if client["clientId"] in {"app", "api"} else client
        for client in made["clients"]
        if client["clientId"] not in {"target", "machine"}
    ]
    made["clients"] += [web_client("target", attributes=exchanges, protocolMappers=mappers)]
    made["clients"] += [web_client("machine", serviceAccountsEnabled=True)]
    return made


def _exchanged(before: Permitted, client: str, token: str, kind: str = "access") -> Any:
    form = {
        "client_id": client,
        "client_secret": SECRET,
        "grant_type": _EXCHANGE,
        "subject_token": token,
        "subject_token_type": f"{_TYPE}access_token",
        "requested_token_type": f"{_TYPE}{kind}_token",
        "scope": "openid phone",
    }
    answer = before.post("token", form)
    assert answer.is_success, answer.text
    return answer.json()


def _refreshed(before: Permitted, client: str, token: str) -> httpx2.Response:
    form = {"client_id": client, "client_secret": SECRET, "refresh_token": token}
    return before.post("token", {**form, "grant_type": "refresh_token"})


def _chain(before: Permitted) -> list[str]:
    tokens = [before.tokens["access"]]
    for client in _CHAIN[1:]:
        tokens.append(_exchanged(before, client, tokens[-1])["access_token"])
    return tokens


def _revoke(before: Permitted, client: str, token: str) -> None:
    answer = before.post("revoke", {"client_id": client, "client_secret": SECRET, "token": token})
    assert (answer.status_code, answer.content) == (200, b"")


def _allowed(before: Permitted, token: str) -> set[str]:
    of_token = replace(before, tokens={**before.tokens, "access": token})
    return {use for use in _USES if of_token.allowed(use)}


@pytest.fixture(scope="module")
def before(administration: Administration) -> Iterator[Permitted]:
    name, site = "revoked-exchanges", "revoked-exchanges.example.test"
    with ExitStack() as stack:
        realm = stack.enter_context(
            administered_realm(administration, name, {}, **_settings(name, site))
        )
        realm.change("POST", "guard/sites", permitting_site(site))
        yield _signed_in(realm, site)


def _signed_in(realm: AdministeredRealm, site: str) -> Permitted:
    browser = SignInBrowser(realm.administration.http, realm.name)
    page = browser.submit(browser.open(scope="openid"), username=USER, password=PASSWORD)
    assert page.answer["code"]
    permitted = Permitted(realm, site, Path(), browser, {}, "")
    return replace(permitted, tokens=_first(permitted))


def _first(before: Permitted) -> Mapping[str, str]:
    page = before.browser.open(scope="openid phone")
    tokens = before.browser.redeem(page.answer["code"]).json()
    return {"access": tokens["access_token"], "refresh": tokens["refresh_token"]}


@pytest.mark.parametrize("revoked", range(len(_CHAIN) + 1))
def test_a_revocation_ends_the_rest_of_a_chain(before: Permitted, revoked: int) -> None:
    """The last time no token is revoked. Sites remember an identity for a second."""
    before = replace(before, tokens=_first(before))
    chain, other = _chain(before), _exchanged(before, "api", before.tokens["access"])
    if revoked < len(_CHAIN):
        _revoke(before, _CHAIN[revoked], chain[revoked])
    found = [_allowed(before, token) for token in chain]
    expected = [set(_USES) if place < revoked else set[str]() for place in range(len(chain))]
    assert found == expected
    lasts = set(_USES) if revoked else set[str]()
    assert _allowed(before, other["access_token"]) == lasts
    assert _refreshed(before, "app", before.tokens["refresh"]).is_success


@pytest.mark.parametrize("use", ["refresh", "introspection", "logout", "revocation", "refreshed"])
def test_a_revocation_ends_exchanged_refresh_tokens(before: Permitted, use: str) -> None:
    before = replace(before, tokens=_first(before))
    source = _exchanged(before, "api", before.tokens["access"])["access_token"]
    api = {"client_id": "target", "client_secret": SECRET}
    ended = _exchanged(before, "target", source, "refresh")
    again = _refreshed(before, "target", ended["refresh_token"]).json()
    _revoke(before, "api", source)
    if use == "refreshed":
        assert _allowed(before, again["access_token"]) == set()
    for token in (ended["refresh_token"], again["refresh_token"]):
        match use:
            case "refresh":
                assert _refreshed(before, "target", token).json()["error"] == "invalid_grant"
            case "introspection":
                answer = before.post("token/introspect", {**api, "token": token})
                assert answer.json() == {"active": False}
            case "logout":
                assert not before.post("logout", {**api, "refresh_token": token}).is_success
            case "revocation":
                before.post("revoke", {**api, "token": token})
    assert _allowed(before, before.tokens["access"]) == set(_USES)


def test_a_chain_of_exchanges_has_an_end(before: Permitted) -> None:
    """Each token names those that it was exchanged from, so their number is limited."""
    token, exchanges = _first(before)["access"], 0
    form = {"client_id": "api", "client_secret": SECRET, "grant_type": _EXCHANGE}
    while exchanges < 40:
        sent = {"subject_token": token, "subject_token_type": f"{_TYPE}access_token"}
        answer = before.post("token", {**form, **sent})
        if not answer.is_success:
            break
        token, exchanges = answer.json()["access_token"], exchanges + 1
    assert exchanges == 16
    assert answer.json()["error"] == "invalid_request"
    assert before.allowed("introspection")


def test_a_revocation_lasts_as_long_as_what_was_exchanged(before: Permitted) -> None:
    """An expired row is deleted, and what it has ended would be valid again."""
    source = _first(before)["access"]
    long = _exchanged(before, "target", source, "refresh")["refresh_token"]
    form = {"client_id": "machine", "client_secret": SECRET, "grant_type": "client_credentials"}
    machine = before.post("token", form).json()["access_token"]
    _revoke(before, "app", source)
    _revoke(before, "machine", machine)
    exp = {token: int(claims_of(token)["exp"]) for token in (source, long, machine)}
    assert exp[source] < exp[long] <= _kept_until(before, source)
    assert _kept_until(before, machine) == exp[machine]


def _kept_until(before: Permitted, token: str) -> float:
    """Return until when the revocation of the token is stored, in seconds since 1970."""
    database = before.realm.administration.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(database)) as connection:
        (found,) = connection.execute(
            "SELECT expires_at FROM revocations WHERE token_id = ?", (claims_of(token)["jti"],)
        ).fetchone()
    return float(found) / 1_000_000
