"""A token is used with the renewed certificate of its holder while an overlap lasts.

Through the real nginx; the decision about a protected site is asked as nginx asks it.
Spec: RFC 8705 §3; attacks A9, A14
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.crypto.x509.development_pki import revoke_certificate
from gateway.crypto.x509.issuing import KeyAlgorithm, ValidityPeriod, generate_key, issue_root, name
from gateway.crypto.x509.parse import describe
from gateway.domain.realm import RENEWAL_OVERLAP
from tests.support.certificate_clients import CertificateClients, client
from tests.support.dpop import ProofKey
from tests.support.gateway_process import until
from tests.support.spec_stack import KEY_BOUND, Stack, protocol
from tests.support.wire import BOUND, PASSWORD, audience, claims_of, user

REALM: Final = "renewed"
HOST: Final = "renewed.example.test"
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
_ACCESS: Final = "urn:ietf:params:oauth:token-type:access_token"
_EVENTS: Final = {"eventsEnabled": True, "enabledEventTypes": ["REFRESH_TOKEN"]}
_EXCHANGE: Final = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "subject_token_type": _ACCESS,
}
_ATTRIBUTES: Final = {
    **BOUND,
    "client_credentials.use_refresh_token": "true",
    "standard.token.exchange.enabled": "true",
}


def _press(client_id: str, **attributes: str) -> dict[str, Any]:
    made = client(client_id, san_dns=f"{client_id}.example", **_ATTRIBUTES, **attributes)
    mappers = [audience(client_id), audience("account")]
    return made | {"directAccessGrantsEnabled": True, "protocolMappers": mappers}


CLIENTS: Final = (
    _press("press"),
    _press("slow", **{RENEWAL_OVERLAP: str(3 * 3600)}),
    _press("strict", **{RENEWAL_OVERLAP: "0"}),
    _press("changing"),
    client("keyed", san_dns="keyed.example", **KEY_BOUND),
)


@pytest.fixture(scope="module")
def presses(spec: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CertificateClients]:
    """Make a realm with an overlap of one hour, and a site for the client `press`."""
    with ExitStack() as open_ones:
        folder = tmp_path_factory.mktemp("renewed")
        made = CertificateClients.make(spec, REALM, folder, CLIENTS, open_ones)
        _set_overlap(spec, "3600")
        rules = [{"name": "own", "paths": ["/*"], "clients": ["press"]}]
        anyone = {"bearerAudience": "any"}  # the clients' roles add audiences
        site = {"name": "renewed", "hosts": [HOST], "rules": rules, **anyone}
        assert made.admin("POST", "guard/sites", site).status_code == 201
        for each in CLIENTS:
            _grant(made, each["clientId"], "realm-management", "view-users")
        assert made.admin("POST", "users", user("ada")).status_code == 201
        yield made


def _grant(realm: CertificateClients, client_id: str, owner: str, role: str) -> None:
    """Give a role of a client to the service account of another one."""
    account = realm.admin("GET", f"clients/{realm.id_of(client_id)}/service-account-user").json()
    owner_id = realm.id_of(owner)
    found = realm.admin("GET", f"clients/{owner_id}/roles/{role}").json()
    path = f"users/{account['id']}/role-mappings/clients/{owner_id}"
    assert realm.admin("POST", path, [found]).status_code == 204


def _set_overlap(stack: Stack, text: str) -> None:
    attributes = stack.ask(REALM).json()["attributes"] | {
        RENEWAL_OVERLAP: text,
        "realmgate.certificates.gatewayAuthorities": "true",
    }
    answer = stack.put(REALM, {"attributes": attributes, **_EVENTS})
    assert answer.status_code == 204, answer.text


@dataclass(frozen=True, slots=True)
class Press:
    """A client, and how certificates of it are issued."""

    realm: CertificateClients
    client_id: str = "press"

    def issue(
        self, kind: str, age: timedelta, *names: str, now: datetime | None = None, **how: Any
    ) -> str:
        """Issue a certificate that began `age` before now; return its name."""
        now = now or datetime.now(UTC)
        validity = ValidityPeriod(now - age, how.pop("end", now + DAY))
        written = names or (f"dns:{self.client_id}.example",)
        return self.realm.issue(
            f"{self.client_id} {kind}", *written, validity=validity, **{"cn": "press"} | how
        )

    def tokens(self, certificate: str, **how: Any) -> dict[str, Any]:
        answer = self.realm.token(certificate, self.client_id, **how)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def uses(self, certificate: str, tokens: Mapping[str, str]) -> dict[str, Callable[[], bool]]:
        """Return the ways to use tokens with a certificate; each tells whether it is accepted."""
        realm, token = self.realm, tokens["access_token"]
        nginx = realm.stack.nginx
        http = realm.http(certificate)
        bearer = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

        def got(path: str) -> bool:
            return http.get(f"{nginx.mtls}{path}", headers=bearer).is_success

        def posted(path: str, **form: str) -> httpx2.Response:
            sent = {"client_id": self.client_id, **form}
            return realm.post(path, certificate, sent)

        def introspected() -> bool:
            answer = posted("token/introspect", token=token)
            return answer.is_success and bool(answer.json()["active"])

        refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        return {
            "userinfo": lambda: got(f"/realms/{REALM}/protocol/openid-connect/userinfo"),
            "admin": lambda: got(f"/admin/realms/{REALM}/users/count"),
            "introspection": introspected,
            "refresh": lambda: posted("token", **refresh).is_success,
            "exchange": lambda: posted("token", **_EXCHANGE, subject_token=token).is_success,
            "forward-auth": lambda: self._decided(certificate, token),
        }

    def accepted(self, certificate: str, tokens: Mapping[str, str]) -> set[str]:
        """Return the ways in which tokens are accepted."""
        return {name for name, use in self.uses(certificate, tokens).items() if use()}

    def direct(self, certificate: str, **headers: str) -> httpx2.Client:
        """Return a client of the gateway that sends what a proxy would send."""
        pem = self.realm.keeper.animals[certificate].certificate.read_bytes()
        sent = {
            "X-Forwarded-Proto": "https",
            "ssl-client-cert": quote(pem.decode()),
            "ssl-client-verify": "SUCCESS",
        }
        return self.realm.stack.gateways[0].client(**sent, **headers)

    def _decided(self, certificate: str, token: str) -> bool:
        asked = {
            "Authorization": f"Bearer {token}",
            "X-Original-Request": "GET / HTTP/1.1",
            "X-Forwarded-Host": HOST,
            "X-Realmgate-Server": HOST,
        }
        with self.direct(certificate, **asked) as http:
            return http.get("/.realmgate/guard/nginx").is_success


ALL: Final = {
    *("userinfo", "admin", "introspection", "refresh", "exchange", "forward-auth"),
}


def _thumbprint(presses: CertificateClients, certificate: str) -> str:
    return describe(x509.load_der_x509_certificate(presses.keeper.animals[certificate].der)).sha256


def test_tokens_work_with_a_renewed_certificate_in_the_overlap(
    presses: CertificateClients,
) -> None:
    press = Press(presses)
    old, new = press.issue("old", DAY), press.issue("new", HOUR / 2)
    tokens = press.tokens(old, scope="openid")
    assert press.accepted(old, tokens) == ALL
    assert press.accepted(new, tokens) == ALL
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    renewed = presses.token(new, "press", **form).json()
    own = claims_of(press.tokens(new)["access_token"])["cnf"]
    form = {**_EXCHANGE, "subject_token": tokens["access_token"]}
    exchanged = presses.token(new, "press", **form).json()["access_token"]
    for token in (renewed["access_token"], renewed["refresh_token"], exchanged):
        assert claims_of(token)["cnf"] == own
    assert press.accepted(old, renewed) == set()
    events = presses.stack.ask(f"{REALM}/events", type="REFRESH_TOKEN").json()
    details = [event["details"].get("certificate_renewed_from") for event in events]
    previous = claims_of(tokens["access_token"])["cnf"]["x5t#S256"]
    assert set(details) == {previous, None}
    revoked = presses.post("revoke", new, {"client_id": "press", "token": tokens["access_token"]})
    assert revoked.status_code == 200, revoked.text
    assert "userinfo" not in press.accepted(old, tokens)


def test_tokens_of_users_have_the_same_overlap(presses: CertificateClients) -> None:
    press = Press(presses)
    old, new = press.issue("of users", DAY), press.issue("of users again", HOUR / 2)
    form = {"grant_type": "password", "username": "ada", "password": PASSWORD}
    tokens = press.tokens(old, **form)
    bearer = {"Authorization": f"Bearer {tokens['access_token']}", "Accept": "application/json"}
    url = f"{presses.stack.nginx.mtls}/realms/{REALM}/account/"
    other = press.issue("of others", HOUR / 2, cn="other")
    for certificate, expected in ((old, 200), (new, 200), (other, 401)):
        assert presses.http(certificate).get(url, headers=bearer).status_code == expected
    left = {"client_id": "press", "refresh_token": tokens["refresh_token"]}
    assert presses.post("logout", other, left).status_code == 401
    assert presses.post("logout", new, left).status_code == 204
    assert presses.http(new).get(url, headers=bearer).status_code == 401


def test_a_refresh_always_binds_to_the_renewed_certificate(
    presses: CertificateClients,
) -> None:
    press = Press(presses, "changing")
    old, new = press.issue("before", DAY), press.issue("after", HOUR / 2)
    tokens = press.tokens(old)
    attributes = {**_ATTRIBUTES, **dict.fromkeys(BOUND, "false")}
    changed = presses.with_attributes("changing", san_dns="changing.example", **attributes)
    assert changed.status_code == 204, changed.text
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    renewed = presses.token(new, "changing", **form).json()
    assert "cnf" in claims_of(renewed["access_token"])
    assert claims_of(renewed["access_token"])["cnf"] != claims_of(tokens["access_token"])["cnf"]


def test_another_certificate_is_no_renewed_one(presses: CertificateClients) -> None:
    """Its names, its start and its issuer decide; the overlap ends, and so does the old one."""
    press, now = Press(presses), datetime.now(UTC)
    tokens = press.tokens(press.issue("first", HOUR / 2, now=now), scope="openid")
    recent = HOUR / 4
    for kind, age, names, cn in (
        ("other subject", recent, (), "other"),
        ("more names", recent, ("dns:press.example", "dns:other.example"), "press"),
        ("other letters", recent, ("dns:PRESS.example",), "press"),
        ("name of another kind", recent, ("dns:press.example", "ip:192.0.2.7"), "press"),
        ("earlier", HOUR * 3 / 4, (), "press"),
        ("of the same second", HOUR / 2, (), "press"),
    ):
        other = press.issue(kind, age, *names, cn=cn, now=now)
        assert press.accepted(other, tokens) == set(), kind
    impostor = issue_root(
        presses.keeper.issuing.certificate.subject,
        generate_key(KeyAlgorithm.ECDSA),
        presses.keeper.current,
    )
    other = press.issue("same-named issuer", recent, issuer=impostor)
    # nginx refuses it: the gateway is asked directly, as if another proxy had let it pass.
    anchor = {"certificate": impostor.certificate.public_bytes(Encoding.PEM).decode()}
    assert presses.admin("POST", "certificates/authorities", anchor).status_code == 201
    with press.direct(other) as http:
        form = {"grant_type": "client_credentials", "client_id": "press"}
        assert http.post(f"{protocol(REALM)}/token", data=form).is_success
        refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        assert http.post(f"{protocol(REALM)}/token", data=form | refresh).status_code == 401
    assert not press.uses(other, tokens)["forward-auth"]()


def test_alternative_names_must_match_by_kind_and_not_by_order(
    presses: CertificateClients,
) -> None:
    press = Press(presses)
    mine, further = "dns:press.example", "press.example.net"
    old = press.issue("of two names", DAY, mine, f"dns:{further}")
    tokens = press.tokens(old, scope="openid")
    reordered = press.issue("reordered", HOUR / 2, f"dns:{further}", mine)
    assert press.accepted(reordered, tokens) == ALL
    tokens = press.tokens(old, scope="openid")
    other = press.issue("of a name of another kind", HOUR / 2, mine, f"email:{further}")
    assert press.accepted(other, tokens) == set()


def test_an_issuer_of_another_name_differs_despite_an_equal_key(
    presses: CertificateClients,
) -> None:
    """Otherwise the serial number of the previous certificate would be looked for in its list."""
    issuing, now = presses.keeper.issuing, datetime.now(UTC)
    renamed = issue_root(name("Renamed CA"), issuing.key, presses.keeper.current)
    anchor = {"certificate": renamed.certificate.public_bytes(Encoding.PEM).decode()}
    assert presses.admin("POST", "certificates/authorities", anchor).status_code == 201
    press = Press(presses)
    tokens = press.tokens(press.issue("of the first name", DAY, now=now), scope="openid")
    other = press.issue("of the other name", HOUR / 2, issuer=renamed)
    # nginx does not know the authority: the gateway is asked directly.
    with press.direct(other) as http:
        form = {"grant_type": "client_credentials", "client_id": "press"}
        assert http.post(f"{protocol(REALM)}/token", data=form).is_success
        refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        assert http.post(f"{protocol(REALM)}/token", data=form | refresh).status_code == 401
    assert not press.uses(other, tokens)["forward-auth"]()


def test_the_overlap_ends_and_a_client_has_its_own(presses: CertificateClients) -> None:
    for client_id, expected in (("press", set()), ("slow", ALL), ("strict", set())):
        press = Press(presses, client_id)
        late = press.issue("late", 2 * HOUR)
        tokens = press.tokens(press.issue("before", DAY), scope="openid")
        accepted = press.accepted(late, tokens) | ({"forward-auth"} & expected)
        assert accepted == expected, client_id
    brief = Press(presses, "slow")
    short = brief.issue("short", DAY, end=datetime.now(UTC) + timedelta(seconds=4))
    tokens = brief.tokens(short, scope="openid")
    following = brief.issue("following", HOUR / 2)
    userinfo = brief.uses(following, tokens)["userinfo"]
    assert userinfo()
    until(partial(_fails, userinfo), "the certificate of the token has not expired")


def _fails(use: Callable[[], bool]) -> bool:
    return not use()


def test_a_denied_or_revoked_certificate_has_no_renewed_one(presses: CertificateClients) -> None:
    press = Press(presses)
    new = press.issue("replacement", HOUR / 2)
    for kind in ("denied", "listed"):
        old = press.issue(kind, DAY)
        tokens = press.tokens(old, scope="openid")
        assert press.accepted(new, tokens) == ALL
        if kind == "denied":
            entry = {"thumbprint": _thumbprint(presses, old), "reason": "stolen"}
            assert presses.admin("POST", "certificates/denied", entry).status_code == 201
        else:
            certificate = x509.load_der_x509_certificate(presses.keeper.animals[old].der)
            revoke_certificate(
                presses.stack.certificates.folder, certificate, now=datetime.now(UTC)
            )
        for use in press.uses(new, tokens).values():
            until(partial(_fails, use), f"{kind}: a token is accepted")
        assert press.accepted(new, press.tokens(new, scope="openid")) == ALL
    tokens, newest = press.tokens(new, scope="openid"), press.issue("newest", HOUR / 4)
    assert press.accepted(newest, tokens) == ALL
    entry = {"thumbprint": _thumbprint(presses, newest), "reason": "stolen"}
    assert presses.admin("POST", "certificates/denied", entry).status_code == 201
    for use in press.uses(newest, tokens).values():
        until(partial(_fails, use), "a token is accepted with a renewed certificate that is denied")


def test_without_an_overlap_tokens_say_nothing_of_it(presses: CertificateClients) -> None:
    """Switched off, it stops at once for tokens that were issued before."""
    press, strict = Press(presses), Press(presses, "strict")
    old, new = press.issue("until off", DAY), press.issue("after off", HOUR / 2)
    tokens = press.tokens(old, scope="openid")
    assert "realmgate_renewal" in claims_of(tokens["access_token"])
    plain = strict.tokens(strict.issue("plain", DAY))
    for token in (plain["access_token"], plain["refresh_token"]):
        assert "realmgate_renewal" not in claims_of(token)
    _set_overlap(presses.stack, "0")
    try:
        assert press.accepted(new, tokens) == set()
    finally:
        _set_overlap(presses.stack, "3600")


def test_a_key_bound_token_says_nothing_of_the_certificate(
    presses: CertificateClients,
) -> None:
    keyed = Press(presses, "keyed").issue("of a keyed client", DAY)
    url = f"{presses.stack.nginx.mtls}{protocol(REALM)}/token"
    form = {"grant_type": "client_credentials", "client_id": "keyed"}
    proof = {
        "DPoP": ProofKey.new().proof("POST", f"{presses.stack.nginx.https}{protocol(REALM)}/token")
    }
    answer = presses.http(keyed).post(url, data=form, headers=proof)
    claims = claims_of(answer.json()["access_token"])
    assert list(claims["cnf"]) == ["jkt"]
    assert "realmgate_renewal" not in claims


def test_an_overlap_is_a_bounded_number_of_seconds(presses: CertificateClients) -> None:
    stack = presses.stack
    attributes = stack.ask(REALM).json()["attributes"]
    for text in ("-1", "2592001", "1h", "01", "\u0661"):
        answer = stack.put(REALM, {"attributes": attributes | {RENEWAL_OVERLAP: text}})
        assert (answer.status_code, RENEWAL_OVERLAP in answer.text) == (400, True), text
        changed = presses.with_attributes("slow", **{RENEWAL_OVERLAP: text})
        assert (changed.status_code, RENEWAL_OVERLAP in changed.text) == (400, True), text
    loose = client("loose", san_dns="loose.example", **{RENEWAL_OVERLAP: "60"})
    refused = presses.admin("POST", "clients", loose)
    assert (refused.status_code, RENEWAL_OVERLAP in refused.text) == (400, True)
