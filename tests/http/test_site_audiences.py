"""Which bearer tokens reach a protected site: those for its client, or for a rule's audiences.

Sites of realms through the real nginx; a new one and one that an older version stored.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from gateway.cli import main
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import until
from tests.support.protected_sites import HOST, PROXY_SECRET, Protected, start_protected
from tests.support.wire import SECRET, app, audience, client, device

NEW, OLD, CLOSED = "new.example.test", "old.example.test", "closed.example.test"
TOKENS: Final = "/realms/staff/protocol/openid-connect/token"
EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
ON: Final = {"standard.token.exchange.enabled": "true"}
LIGHT: Final = {"client.use.lightweight.access.token.enabled": "true"}
CLIENTS: Final = (
    client("shop"),
    client("billing"),
    app("portal-for-shop", protocolMappers=[audience("shop"), audience("billing"), audience("ex")]),
    app("light-for-shop", protocolMappers=[audience("shop")], attributes=LIGHT),
    app("light-elsewhere", protocolMappers=[audience("billing")], attributes=LIGHT),
    app("elsewhere", protocolMappers=[audience("billing")]),
    client("ex", attributes=ON, protocolMappers=[audience("shop"), audience("billing")]),
    client("shop-itself", directAccessGrantsEnabled=True),
)
RULES: Final = [
    {"name": "billing", "paths": ["/billing/*"], "audiences": ["billing", "https://billing"]},
    {"name": "devices", "paths": ["/devices/*"], "clients": ["press", "loose"]},
    {"name": "all", "paths": ["/*"]},
]


@pytest.fixture(scope="module")
def shop(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Protected]:
    folder = tmp_path_factory.mktemp("audiences")
    edge = {"servers": (HOST, NEW, OLD, CLOSED)}
    with start_protected(folder, edge_certificates, edge) as running:
        for each in CLIENTS:
            _administer(running, "POST", "staff/clients", each)
        for name, host in (("new", NEW), ("old", OLD)):
            document = {"name": name, "hosts": [host], "client": "shop", "rules": RULES}
            _administer(running, "POST", "staff/guard/sites", document)
        closed = {"name": "closed", "hosts": [CLOSED], "rules": [RULES[-1]]}
        _administer(running, "POST", "staff/guard/sites", closed)
        _store_as_older_version(running, "old")
        yield running


def _administer(running: Protected, method: str, path: str, document: object) -> None:
    answer = running.administration.ask(method, path, document=document)
    assert answer.is_success, answer.text


def _store_as_older_version(running: Protected, name: str) -> None:
    database = running.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        changed = connection.execute(
            "UPDATE sites SET document = json_remove(document, '$.bearer_audience')"
            " WHERE name = ? AND json_extract(document, '$.bearer_audience') = 'site'",
            (name,),
        )
        assert changed.rowcount == 1
    # Every gateway reads the realm's sites again.
    _administer(running, "PUT", "staff", {"displayName": "changed"})


def _exchanged(running: Protected, subject: str, to: str) -> str:
    form = {
        "grant_type": EXCHANGE,
        "client_id": "ex",
        "client_secret": SECRET,
        "subject_token": subject,
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "audience": to,
    }
    with running.gateway.client(**{"X-Realmgate-Proxy-Secret": PROXY_SECRET}) as http:
        answer = http.post(TOKENS, data=form)
    assert answer.is_success, answer.text
    return str(answer.json()["access_token"])


@pytest.fixture(scope="module")
def tokens(shop: Protected) -> Mapping[str, str]:
    """Return a token of each kind."""
    several = shop.token("ada", "portal-for-shop")["access_token"]
    own = shop.token("ada", "shop-itself", client_secret=SECRET)["access_token"]
    return {
        "for the site and others": several,
        "narrowed to the site": _exchanged(shop, several, "shop"),
        "narrowed to billing": _exchanged(shop, several, "billing"),
        "for billing": shop.token("ada", "elsewhere")["access_token"],
        "lightweight, for the site": shop.token("ada", "light-for-shop")["access_token"],
        "lightweight, for billing": shop.token("ada", "light-elsewhere")["access_token"],
        "for no service": shop.token("ada", "portal")["access_token"],
        "of the site's client, without aud": shop.client_token("staff", "shop"),
        "of another client, without aud": own,
    }


FOR_THE_SITE: Final = {
    *("for the site and others", "narrowed to the site", "lightweight, for the site"),
}
FOR_BILLING: Final = {
    *("for the site and others", "narrowed to billing", "for billing", "lightweight, for billing"),
}


def _passing(shop: Protected, tokens: Mapping[str, str], host: str, path: str) -> set[str]:
    passing = set()
    for name, token in tokens.items():
        shop.service.forget()
        answer = shop.ask(path, token=token, host=host)
        assert len(shop.service.received) == (answer.status_code == 200)
        if answer.status_code == 200:
            passing.add(name)
        else:
            assert answer.status_code == 401
            challenge = answer.headers["www-authenticate"]
            assert 'error="invalid_token"' in challenge
            assert "The token is for another service" in challenge
    return passing


def test_a_token_reaches_the_services_that_it_is_for(
    shop: Protected, tokens: Mapping[str, str]
) -> None:
    assert _passing(shop, tokens, NEW, "/") == FOR_THE_SITE
    assert _passing(shop, tokens, NEW, "/billing/1") == FOR_BILLING
    assert _passing(shop, tokens, CLOSED, "/") == set()


def test_an_older_site_goes_on_and_is_in_the_log_once(
    shop: Protected, tokens: Mapping[str, str]
) -> None:
    """The rule with audiences is as strict at such a site."""
    assert _passing(shop, tokens, OLD, "/") == set(tokens)
    assert _passing(shop, tokens, OLD, "/billing/1") == FOR_BILLING

    def warnings() -> list[Mapping[str, Any]]:
        event = "site accepts tokens for other services"
        found = [line for line in shop.gateway.log() if line["event"] == event]
        return [line for line in found if line["site"] == "old"]

    until(warnings, "the site is not in the log")
    assert len(warnings()) <= len(shop.gateway.workers())
    assert {line["level"] for line in warnings()} == {"warning"}


def test_the_log_says_why_a_token_is_not_for_the_site(
    shop: Protected, tokens: Mapping[str, str]
) -> None:
    shop.ask("/why", token=tokens["narrowed to billing"], host=NEW)
    expected = "the rule all requires a token with one of these audiences: shop; the token's aud"

    def reasons() -> list[str]:
        lines = [str(line.get("reason")) for line in shop.gateway.log()]
        return [reason for reason in lines if reason == f"{expected} is: billing"]

    until(reasons, "the reason is not in the log")


def test_a_device_passes_by_certificate_and_a_rule_naming_it(shop: Protected) -> None:
    """Its token has no `aud`. Without the binding, or at another rule, it is for no site."""
    press = device(
        "press", _subject(shop), **{"tls.client.certificate.bound.access.tokens": "true"}
    )
    loose = device("loose", _subject(shop))
    for each in (press, loose):
        del each["protocolMappers"]
        _administer(shop, "POST", "staff/clients", each)
    bound, unbound = (_device_token(shop, name) for name in ("press", "loose"))
    answers = {
        (path, name): shop.ask(path, token=token, host=NEW, certificate="device-1").status_code
        for path in ("/devices/1", "/")
        for name, token in (("bound", bound), ("unbound", unbound))
    }
    assert answers == {
        ("/devices/1", "bound"): 200,
        ("/devices/1", "unbound"): 401,
        ("/", "bound"): 401,
        ("/", "unbound"): 401,
    }
    assert shop.ask("/devices/1", token=bound, host=NEW, certificate="device-2").status_code == 401
    assert shop.ask("/devices/1", host=NEW, certificate="device-1").status_code == 200


def _subject(shop: Protected) -> str:
    found = shop.administration.ask("GET", "devices/clients?clientId=device-1").json()
    return str(found[0]["attributes"]["x509.subjectdn"])


def _device_token(shop: Protected, client_id: str) -> str:
    form = {"grant_type": "client_credentials", "client_id": client_id}
    with shop.nginx.client(shop.certificates.pair("device-1")) as http:
        answer = http.post(f"{shop.nginx.https}{TOKENS}", data=form, headers={"Host": "localhost"})
    assert answer.is_success, answer.text
    return str(answer.json()["access_token"])


def test_a_replaced_site_keeps_its_choice_and_exports_say_it(shop: Protected) -> None:
    """A document without `bearerAudience` closes no site that was open, and opens none."""
    sites = {"new": None, "old": "any"}
    for name, choice in sites.items():
        path = f"staff/guard/sites/{name}"
        shown = shop.administration.ask("GET", path).json()
        assert shown.get("bearerAudience") == choice
        shown.pop("bearerAudience", None)
        _administer(shop, "PUT", path, shown)
        again = shop.administration.ask("GET", path).json()
        assert again.get("bearerAudience") == choice


def test_explain_names_the_audiences(
    shop: Protected, tokens: Mapping[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(tokens["for billing"])
    environment = {
        "REALMGATE_STATE_DIR": str(shop.gateway.state_dir),
        "REALMGATE_PUBLIC_URL": "https://gateway.test",
    }
    asked = ["guard", "explain", "GET", f"https://{NEW}/", "--token", str(file)]
    done = CliRunner(env=environment).invoke(main, [*asked, "--output", "json"])
    said = json.loads(done.stdout)
    assert (said["decision"], said["reason"]) == ("unauthenticated", "audience_not_allowed")
    assert "these audiences: shop" in said["explanation"]
