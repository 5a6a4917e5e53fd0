"""Every place that takes a JWT takes the tokens that are meant for it, signed by whom it trusts.

RFC 8725 §3.1, §3.10 to §3.12; attacks: C13, C14, C15, C23
"""

import base64
import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gateway.crypto.private_keys import ParsedSecretKey
from gateway.crypto.realm_keys import ParsedKey
from gateway.domain.keys import INTERNAL_TYPES, SecretAlgorithm, SignatureAlgorithm
from tests.support.administered_realm import person
from tests.support.administration import Administration
from tests.support.client_documents import ClientDocuments, serving_documents
from tests.support.mailed_links import MailedRealm, key_of, mailed_realm
from tests.support.realm_keys import realm_keys
from tests.support.registration import Registration
from tests.support.sign_in_browser import CALLBACK, PUBLIC_URL, SignInBrowser, web_client

_NAME: Final = "forging"
_ISSUER: Final = f"{PUBLIC_URL}/realms/{_NAME}"
_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
Tokens = Mapping[str, str]


@cache
def _key(_: str) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _jwk(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(_key(name).public_key()))
    return found


@dataclass(frozen=True, slots=True)
class Forging:
    """The realm, and an own key of it."""

    pages: MailedRealm
    own: ParsedKey
    foreign: ParsedKey
    """The key of another realm of the same gateway."""
    listener: ClientDocuments
    client: str
    """The internal id of the client `app`."""

    @property
    def browser(self) -> SignInBrowser:
        return self.pages.browser()


@pytest.fixture(scope="module")
def forging(administration: Administration) -> Iterator[Forging]:
    """Make a realm with a client that signs, and one whose users administer the realm."""
    keys = {
        "use.jwks.string": "true",
        "jwks.string": json.dumps({"keys": [_jwk("client") | {"kid": "own"}]}),
    }
    settings: dict[str, Any] = {
        "clients": [
            web_client("app"),
            web_client(
                "signs",
                clientAuthenticatorType="client-jwt",
                serviceAccountsEnabled=True,
                attributes=keys,
            ),
        ],
        "users": [
            person("anna"),
            person(
                "bert",
                email="bert@example.org",
                clientRoles={"realm-management": ["realm-admin"]},
            ),
        ],
    }
    with (
        mailed_realm(administration, _NAME, {}, **settings) as pages,
        serving_documents() as listener,
    ):
        state = administration.gateway.state_dir
        own, foreign = (
            next(
                ParsedKey(record)
                for record in realm_keys(state, found["id"]).records
                if record.algorithm is SignatureAlgorithm.ES256
            )
            for found in (pages.realm.get(""), administration.ask("GET", "acme").json())
        )
        (client,) = pages.realm.get("clients?clientId=app")
        yield Forging(pages, own, foreign, listener, client["id"])


@pytest.fixture(scope="module")
def action(forging: Forging) -> str:
    """Return the token of a link that is used once at most."""
    return _action(forging)


def _action(forging: Forging) -> str:
    """Return the token of a new link that verifies bert's address."""
    before = len(forging.pages.server.messages)
    user = forging.pages.user_id("bert")
    forging.pages.realm.change("PUT", f"users/{user}/send-verify-email")
    return key_of(forging.pages.link("bert@example.org", before + 1))


def _tokens(forging: Forging) -> dict[str, str]:
    """Return a token of each kind, of a new session of bert."""
    browser = forging.browser
    offline, online = (
        browser.redeem(browser.sign_in("bert", scope=scope).answer["code"]).json()
        if scope == "openid offline_access"
        else browser.redeem(browser.open(scope=scope).answer["code"]).json()
        for scope in ("openid offline_access", "openid")
    )
    claims = jwt.decode(online["id_token"], options={"verify_signature": False})
    registration = Registration(forging.pages.realm)
    now = int(time.time())
    logout = {name: claims[name] for name in ("iss", "aud", "sub", "sid")}
    return {
        "access": online["access_token"],
        "id": online["id_token"],
        "refresh": online["refresh_token"],
        "offline": offline["refresh_token"],
        "cookie": browser.cookies["KEYCLOAK_IDENTITY"],
        "logout": _by(
            forging.own,
            {"alg": "ES256", "typ": "JWT", "kid": forging.own.record.kid},
            {**logout, "typ": "Logout", "jti": uuid.uuid4().hex, "iat": now, "exp": now + 60},
        ),
        "initial access": registration.initial(),
        "registration access": registration.own(forging.client),
        "assertion": _assertion(),
        "request object": _request_object(state="of-the-object"),
        "request object about the client": _request_object(
            state="of-the-object", sub="signs", jti=uuid.uuid4().hex, iat=now, exp=now + 50
        ),
    }


def _assertion(**headers: Any) -> str:
    now = int(time.time())
    claims = {"iss": "signs", "sub": "signs", "aud": _ISSUER, "jti": uuid.uuid4().hex}
    key = _key("client")
    return jwt.encode({**claims, "exp": now + 50, "iat": now}, key, "ES256", headers)


def _request_object(**claims: Any) -> str:
    content = {"client_id": "signs", "iss": "signs", "aud": _ISSUER, "prompt": "none", **claims}
    return jwt.encode(content, _key("client"), "ES256", {"typ": "oauth-authz-req+jwt"})


def _part(content: Mapping[str, Any] | bytes) -> str:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _by(key: ParsedKey, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    """Sign with a key of a realm, whatever the header says."""
    text = f"{_part(header)}.{_part(claims)}"
    return f"{text}.{_part(key._algorithm.sign(text.encode(), key._private))}"


def _as_bearer(path: str) -> Callable[[Forging, str], bool]:
    def accepts(forging: Forging, token: str) -> bool:
        http = forging.browser.http
        answer = http.get(path, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code in {200, 400, 401, 403}, answer.text
        return answer.status_code == 200

    return accepts


def _registers(forging: Forging, token: str) -> bool:
    answer = Registration(forging.pages.realm).ask("POST", "default", {}, token=token)
    assert answer.status_code in {201, 400, 401, 403}, answer.text
    return answer.status_code == 201


def _reads_registration(forging: Forging, token: str) -> bool:
    answer = Registration(forging.pages.realm).ask("GET", "default/app", token=token)
    assert answer.status_code in {200, 400, 401, 403}, answer.text
    return answer.status_code == 200


def _opens_link(forging: Forging, token: str) -> bool:
    browser = forging.browser
    page = browser.post(f"/realms/{browser.realm}/login-actions/action-token", {"key": token})
    assert page.status in {200, 302, 400, 413}, page.text
    return page.status in {200, 302}


def _is_revoked(forging: Forging, token: str) -> bool:
    """Tell whether the endpoint finds a token of the client: 200 is the answer of any other too."""
    form = {"client_id": "app", "client_secret": "a-clients-secret", "token": token}
    browser = forging.browser
    answer = browser.http.post(browser.protocol("revoke"), data=form)
    assert answer.status_code in {200, 400, 413}, answer.text
    return answer.status_code == 200 and not answer.content


def _is_active(forging: Forging, token: str) -> bool:
    form = {"client_id": "app", "client_secret": "a-clients-secret", "token": token}
    browser = forging.browser
    answer = browser.http.post(browser.protocol("token/introspect"), data=form)
    assert answer.status_code in {200, 413}, answer.text
    return answer.status_code == 200 and answer.json()["active"]


def _refreshes(forging: Forging, token: str) -> bool:
    form = {"grant_type": "refresh_token", "client_id": "app", "client_secret": "a-clients-secret"}
    browser = forging.browser
    answer = browser.http.post(browser.protocol("token"), data=form | {"refresh_token": token})
    assert answer.status_code in {200, 400, 413}, answer.text
    return answer.status_code == 200


def _hints_at_sign_in(forging: Forging, token: str) -> bool:
    """Anna is signed in: a hint that counts says that it should be bert."""
    browser = forging.browser
    browser.sign_in("anna")
    page = browser.open(prompt="none", id_token_hint=token)
    return page.status != 413 and page.answer.get("error") == "login_required"


def _hints_at_logout(forging: Forging, token: str) -> bool:
    browser = forging.browser
    url = f"{browser.protocol('logout')}?id_token_hint={token}"
    page = browser.get(url)
    assert page.status in {200, 400, 413}, page.text
    return page.status == 200


def _is_cookie(forging: Forging, token: str) -> bool:
    browser = forging.browser
    browser.cookies = {"KEYCLOAK_IDENTITY": token}
    return "code" in browser.open(prompt="none").answer


def _authenticates(forging: Forging, token: str) -> bool:
    browser = forging.browser
    form = {
        "grant_type": "client_credentials",
        "client_assertion_type": _ASSERTION,
        "client_assertion": token,
    }
    answer = browser.http.post(browser.protocol("token"), data=form)
    assert answer.status_code in {200, 400, 401, 413}, answer.text
    return answer.status_code == 200


def _is_request(forging: Forging, token: str) -> bool:
    page = forging.browser.open("signs", request=token, state=None)
    # 200: the parameters beside it counted alone.
    assert page.status in {200, 302, 400, 413}, page.text
    return page.status == 302 and page.answer.get("state") == "of-the-object"


_PLACES: Final[Mapping[str, tuple[Callable[[Forging, str], bool], frozenset[str]]]] = {
    "userinfo": (
        _as_bearer(f"/realms/{_NAME}/protocol/openid-connect/userinfo"),
        frozenset({"access"}),
    ),
    "admin API": (_as_bearer(f"/admin/realms/{_NAME}/users?max=1"), frozenset({"access"})),
    "registration": (_registers, frozenset({"access", "initial access"})),
    "own registration": (_reads_registration, frozenset({"access", "registration access"})),
    "link": (_opens_link, frozenset({"action"})),
    "revocation": (_is_revoked, frozenset({"access", "refresh", "offline"})),
    "introspection": (_is_active, frozenset({"id"})),
    "refresh": (_refreshes, frozenset({"refresh", "offline"})),
    "id_token_hint": (_hints_at_sign_in, frozenset({"id"})),
    "identity cookie": (_is_cookie, frozenset({"cookie"})),
    "client assertion": (_authenticates, frozenset({"assertion"})),
    "request object": (
        _is_request,
        frozenset({"request object", "request object about the client"}),
    ),
    "logout hint": (_hints_at_logout, frozenset({"id"})),
}
"""Where a JWT is taken -> whether it accepts one, and the kinds that it accepts.

No client is in the audience of the access token.
"""


@pytest.mark.parametrize("place", _PLACES)
def test_a_token_of_another_kind_is_refused(forging: Forging, action: str, place: str) -> None:
    """attacks: C15. A revoked offline token takes its client out of the session: it comes last."""
    accepts, kinds = _PLACES[place]
    tokens = {**_tokens(forging), "action": _action(forging) if place == "link" else action}
    others = [kind for kind in tokens if kind not in kinds]
    assert {
        kind for kind in (*others, *sorted(kinds, reverse=True)) if accepts(forging, tokens[kind])
    } == kinds


def test_no_other_internal_token_refreshes(forging: Forging) -> None:
    """attacks: C15. Each has the claims and the signature of a refresh token, but its own `typ`."""
    realm = forging.pages.realm
    keys = realm_keys(realm.administration.gateway.state_dir, realm.get("")["id"]).records
    (record,) = [key for key in keys if key.algorithm is SecretAlgorithm.HS512]
    claims = jwt.decode(_tokens(forging)["refresh"], options={"verify_signature": False})

    def of_kind(kind: str) -> str:
        return ParsedSecretKey(record).sign(json.dumps({**claims, "typ": kind}).encode())

    others = sorted(INTERNAL_TYPES - {"Refresh", "Offline"})
    assert others
    assert [kind for kind in others if _refreshes(forging, of_kind(kind))] == []
    assert _refreshes(forging, of_kind("Refresh"))


def _headers(forging: Forging, header: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return headers that try to choose the key, by name."""
    url = forging.listener.url
    forging.listener.documents["/keys"] = json.dumps({"keys": [_jwk("attacker")]}).encode()
    own = {name: value for name, value in header.items() if name != "kid"}
    der = (
        _key("attacker").public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    )
    return {
        "another key": header,
        "jwk": {**header, "jwk": _jwk("attacker")},
        "jwk alone": {**own, "jwk": _jwk("attacker")},
        "jku": {**header, "jku": f"{url}/keys"},
        "jku alone": {**own, "jku": f"{url}/keys"},
        "x5u": {**header, "x5u": f"{url}/keys"},
        "x5c": {**own, "x5c": [base64.b64encode(der).decode()]},
        "kid that is a path": {**header, "kid": "../../../../dev/null"},
        "kid that is SQL": {**header, "kid": "' OR 1=1 --"},
        "kid that is an address": {**header, "kid": f"{url}/keys"},
        "kid that is no text": {**header, "kid": [header.get("kid")]},
        "kid of the other realm": {**header, "kid": forging.foreign.record.kid},
        "huge kid": {**header, "kid": "x" * 12_000},
    }


def _forgeries(forging: Forging, token: str, signer: Any) -> dict[str, str]:
    """Return what an attacker makes of a genuine token whose key is `signer`."""
    head, body, signature = token.split(".")
    header = json.loads(base64.urlsafe_b64decode(head + "=="))
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    algorithm = jwt.get_algorithm_by_name("ES256")

    def by_attacker(changed: Mapping[str, Any]) -> str:
        text = f"{_part({**changed, 'alg': 'ES256'})}.{body}"
        return f"{text}.{_part(algorithm.sign(text.encode(), _key('attacker')))}"

    found = {name: by_attacker(each) for name, each in _headers(forging, header).items()}
    for encoding, name in itertools.product((Encoding.PEM, Encoding.DER), ("HS256", "HS512")):
        form = "PEM" if encoding is Encoding.PEM else "DER"
        public = signer.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
        text = f"{_part({**header, 'alg': name})}.{body}"
        mac = jwt.get_algorithm_by_name(name).sign(text.encode(), public)
        found[f"{name} by the public key as {form}"] = f"{text}.{_part(mac)}"
    without = {name: value for name, value in header.items() if name != "alg"}
    found |= {
        "alg none": f"{_part({**header, 'alg': 'none'})}.{body}.",
        "alg nOnE": f"{_part({**header, 'alg': 'nOnE'})}.{body}.",
        "no alg": f"{_part(without)}.{body}.{signature}",
        "no signature": f"{head}.{body}.",
        "changed": f"{head}.{_part({**claims, 'name': 'x'})}.{signature}",
        "of the other realm": _by(forging.foreign, {**header, "alg": "ES256"}, claims),
        "of the other realm, with its kid": _by(
            forging.foreign, {**header, "alg": "ES256", "kid": forging.foreign.record.kid}, claims
        ),
    }
    for name in ("RS256", "PS256", "ES384", "EdDSA", "HS512"):
        text = f"{_part({**header, 'alg': name})}.{body}"
        found[f"ES256 that says {name}"] = f"{text}.{_part(algorithm.sign(text.encode(), signer))}"
    for name in ("crit", "b64"):
        critical = {**header, "alg": "ES256", "crit": [name], name: False} | {"crit": [name]}
        text = f"{_part(critical)}.{body}"
        mark = _part(algorithm.sign(text.encode(), signer))
        found[f"critical {name}"] = f"{text}.{mark}"
    return found


_GENUINE: Final = {
    "userinfo": "access",
    "admin API": "access",
    "registration": "initial access",
    "own registration": "registration access",
    "link": "action",
    "revocation": "access",
    "introspection": "id",
    "id_token_hint": "id",
    "identity cookie": "cookie",
    "client assertion": "assertion",
    "request object": "request object",
    "refresh": "refresh",
    "logout hint": "id",
}


@pytest.mark.parametrize("place", _GENUINE)
def test_no_header_of_a_token_chooses_its_key(forging: Forging, place: str) -> None:
    """RFC 7515 §4.1.11, RFC 8725 §3.10; attacks: C13, C14."""
    accepts, kind = _PLACES[place][0], _GENUINE[place]
    genuine = _action(forging) if kind == "action" else _tokens(forging)[kind]
    by_client = kind in {"assertion", "request object"}
    signer = _key("client") if by_client else forging.own._private
    # A request object may be unsigned where the client has chosen no algorithm.
    forged = _forgeries(forging, genuine, signer)
    if kind == "request object":
        del forged["alg none"]
    assert [name for name, token in forged.items() if accepts(forging, token)] == []
    assert accepts(forging, genuine)
    assert forging.listener.asked == []


_MILLION: Final = 1_000_000


def test_a_header_of_a_million_characters_is_refused_everywhere(forging: Forging) -> None:
    """attacks: C14. `kid` as long as a body may be, or longer."""
    browser = forging.browser
    long = _assertion(kid="x" * _MILLION)
    own = {"client_id": "app", "client_secret": "a-clients-secret"}
    about = {"client_id": "signs", "response_type": "code", "redirect_uri": CALLBACK}
    assertion = {"client_assertion_type": _ASSERTION, "client_assertion": long}
    forms = (
        ("token", {"grant_type": "client_credentials", **assertion}),
        ("token", {**own, "grant_type": "refresh_token", "refresh_token": long}),
        ("token/introspect", {**own, "token": long}),
        ("revoke", {**own, "token": long}),
        ("ext/par/request", {**own, **about, "client_id": "app", "request": long}),
        ("auth", {**about, "request": long}),
        ("auth", {**about, "id_token_hint": long}),
        ("logout", {"id_token_hint": long}),
        ("logout", {**own, "refresh_token": long}),
    )
    for path, form in forms:
        answer = browser.http.post(browser.protocol(path), data=form)
        assert answer.status_code == 413, (path, answer.status_code, answer.text[:200])
    page = browser.post(f"/realms/{browser.realm}/login-actions/action-token", {"key": long})
    assert page.status == 413
