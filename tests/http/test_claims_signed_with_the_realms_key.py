"""Rights come from stored roles, never from a claim, though the realm's own key signed it.

Every token here has a good signature of the realm's own key. Spec: RFC 8725 §3; Keycloak: 9
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from gateway.domain.keys import SignatureAlgorithm
from tests.support.realm_keys import StolenKeys, realm_keys
from tests.support.spec_stack import Stack, protocol
from tests.support.tokens import claims_of
from tests.support.wire import PASSWORD, SECRET, audience, client, user

Claims = dict[str, Any]
REALM = "selfsigned"
NOBODY = "00000000-0000-0000-0000-000000000000"
ROLES = ["admin", "realm-admin", "manage-users", "view-users"]
YEAR = 31_536_000


def _account(client_id: str, *roles: str) -> dict[str, Any]:
    return {
        "username": f"service-account-{client_id}",
        "serviceAccountClientId": client_id,
        "clientRoles": {"realm-management": list(roles)},
    }


DOCUMENT = {
    "id": REALM,
    "realm": REALM,
    "enabled": True,
    "defaultSignatureAlgorithm": "ES256",
    "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
    "users": [
        user("low"),
        user("boss", clientRoles={"realm-management": ["realm-admin"]}),
        _account("plain"),
        _account("automation", "realm-admin"),
        _account("narrow", "realm-admin"),
    ],
    "clients": [
        client("watcher"),
        client("app", directAccessGrantsEnabled=True, protocolMappers=[audience("watcher")]),
        client("plain", protocolMappers=[audience("watcher")]),
        client("automation", protocolMappers=[audience("watcher")]),
        client("narrow", fullScopeAllowed=False, protocolMappers=[audience("watcher")]),
    ],
}


@dataclass(frozen=True, slots=True)
class Answers:
    """What the endpoints answer to one token."""

    admin: int
    introspected: Claims
    userinfo: httpx2.Response


@dataclass(frozen=True, slots=True)
class SelfSigned:
    """A realm, its keys, and genuine claims of its users and service accounts."""

    stack: Stack
    ring: StolenKeys
    genuine: dict[str, Claims] = field(default_factory=dict)

    def claims(self, who: str) -> Claims:
        """Return the claims of a genuine token, of the same one each time."""
        if who not in self.genuine:
            person = {"grant_type": "password", "client_id": "app", "username": who}
            account = {"grant_type": "client_credentials", "client_id": who}
            form = person | {"password": PASSWORD} if who in {"low", "boss"} else account
            asked = form | {"client_secret": SECRET, "scope": "openid"}
            response = self.stack.token(REALM, asked)
            assert response.status_code == httpx2.codes.OK, response.text
            self.genuine[who] = claims_of(response.json()["access_token"])
        return self.genuine[who]

    def answers(self, claims: Mapping[str, Any]) -> Answers:
        """Sign the claims with the realm's key, and use the token everywhere."""
        token = self.ring.sign(claims, SignatureAlgorithm.ES256, datetime.now(UTC))
        form = {"client_id": "watcher", "client_secret": SECRET, "token": token}
        introspection = f"{self.stack.nginx.https}{protocol(REALM)}/token/introspect"
        return Answers(
            self.stack.ask(f"{REALM}/users", token=token).status_code,
            self.stack.http.post(introspection, data=form).json(),
            self.stack.userinfo(token, REALM),
        )


@pytest.fixture(scope="module")
def realm(spec: Stack) -> Iterator[SelfSigned]:
    """Make the realm, and take its keys from the gateway's database."""
    url = f"{spec.nginx.https}/admin/realms"
    headers = {"Authorization": f"Bearer {spec.administrator()}"}
    response = spec.http.post(url, headers=headers, json=DOCUMENT)
    assert response.status_code == httpx2.codes.CREATED, response.text
    yield SelfSigned(spec, realm_keys(spec.gateways[0].state_dir, REALM))
    spec.ask(REALM, "DELETE")


Change = Callable[[Claims, Claims, Claims], Claims]
"""Changes claims; the claims of `boss` and of `automation` serve as what may be copied."""


def _with(**changed: Any) -> Change:
    return lambda claims, _boss, _automation: claims | changed


def _without(*names: str) -> Change:
    return lambda claims, _boss, _automation: {
        name: value for name, value in claims.items() if name not in names
    }


def _of_boss(*names: str) -> Change:
    return lambda claims, boss, _automation: claims | {name: boss[name] for name in names}


def _of_automation(*names: str) -> Change:
    return lambda claims, _boss, automation: claims | {name: automation[name] for name in names}


GAINS_NOTHING: dict[str, Change] = {
    "realm_access": _with(realm_access={"roles": ROLES}),
    "resource_access": _with(resource_access={"realm-management": {"roles": ROLES}}),
    "resource_access of master": _with(resource_access={"selfsigned-realm": {"roles": ROLES}}),
    "scope": _with(scope=f"openid roles {' '.join(ROLES)}"),
    "exp in a year": lambda claims, _b, _a: claims | {"exp": claims["exp"] + YEAR},
    "preferred_username": _with(preferred_username="boss", username="boss", client_id="automation"),
    "every list of roles": _with(
        realm_access={"roles": ROLES}, roles=ROLES, groups=ROLES, admin=True, act={"sub": "boss"}
    ),
}
REFUSED: dict[str, Change] = {
    "sub of an administrator": _of_boss("sub"),
    "sub of an administrator's service account": _of_automation("sub"),
    "sub of no user": _with(sub=NOBODY),
    "sub is null": _with(sub=None),
    "sub in a list": lambda claims, _b, _a: claims | {"sub": [claims["sub"]]},
    "azp of an administrator's service account": _of_automation("azp"),
    "azp of no client": _with(azp="nobody"),
    "azp is null": _with(azp=None),
    "azp in a list": lambda claims, _b, _a: claims | {"azp": [claims["azp"]]},
    "no azp": _without("azp"),
    "sid of an administrator's session": _of_boss("sid"),
    "sid and azp of an administrator's session": _of_boss("sid", "azp"),
    "sid of an administrator's session and its jti": _of_boss("sid", "jti"),
    "session, jti and client of an administrator": _of_boss("sid", "jti", "azp"),
    "sid is null": _with(sid=None),
    "sid is empty": _with(sid=""),
    "sid is false": _with(sid=False),
    "sid is a number": _with(sid=0),
    "sid in a list": lambda claims, boss, _a: claims | {"sid": [boss["sid"]]},
    "sid of no session": _with(sid="AAAAAAAAAAAAAAAAAAAAAAAA"),
    "typ of an ID token": _with(typ="ID"),
    "typ of a refresh token": _with(typ="Refresh"),
    "typ of a logout token": _with(typ="Logout"),
    "no typ": _without("typ"),
    "iss of master": lambda claims, _b, _a: (
        claims | {"iss": claims["iss"].replace(REALM, "master")}
    ),
    "iss with an escaped letter": lambda claims, _b, _a: (
        claims | {"iss": claims["iss"].replace(REALM, f"%73{REALM[1:]}")}
    ),
    "no iss": _without("iss"),
    "jti of an offline token": _with(jti=f"ofrtro:{NOBODY}"),
    "jti of no kind": _with(jti=NOBODY),
    "jti with a number": _with(jti=7),
    "no jti": _without("jti"),
    "exp in the past": lambda claims, _b, _a: claims | {"exp": claims["iat"] - 1},
    "exp in words": _with(exp="never"),
    "no exp": _without("exp"),
    "iat in the future": lambda claims, _b, _a: claims | {"iat": claims["iat"] + YEAR},
    "no iat": _without("iat"),
    "cnf of another key": _with(cnf={"x5t#S256": "another"}),
}
OF_USERS: dict[str, Change] = {
    "no sid": _without("sid"),
    "no sid, jti of a transient session": lambda claims, _b, _a: {
        **{name: value for name, value in claims.items() if name != "sid"},
        "jti": f"trrtcc:{NOBODY}",
    },
    "no sid, service account of an administrator": lambda claims, _b, automation: {
        **{name: value for name, value in claims.items() if name != "sid"},
        **{name: automation[name] for name in ("azp", "sub")},
    },
    "jti of a transient session": _with(jti=f"trrtcc:{NOBODY}"),
    "iat before the session": _with(iat=0),
}
OF_ACCOUNTS: dict[str, Change] = {
    "jti of a session": _with(jti=f"onrtro:{NOBODY}"),
    "sub, sid and azp of an administrator": _of_boss("sub", "sid", "azp"),
    "no sub": _without("sub"),
}
DESCRIBED = {"cnf of another key", "typ of an ID token"}
"""Introspection returns `cnf` to a resource server, which checks it, and an ID token as such.

Spec: RFC 8705 §3.2; Keycloak: 12.4
"""


def _forged(realm: SelfSigned, who: str, change: Change) -> Claims:
    return change(realm.claims(who), realm.claims("boss"), realm.claims("automation"))


@pytest.mark.parametrize("who", ["low", "plain", "narrow"])
def test_a_claim_of_roles_gives_none(realm: SelfSigned, who: str) -> None:
    own = realm.claims(who)
    for name, change in GAINS_NOTHING.items():
        answers = realm.answers(_forged(realm, who, change))
        assert answers.admin == httpx2.codes.FORBIDDEN, name
        assert answers.introspected["active"] is True, name
        assert answers.introspected["sub"] == own["sub"], name
        assert answers.introspected["username"] == own["preferred_username"], name
        assert answers.userinfo.json()["sub"] == own["sub"], name
        told = answers.introspected.get("resource_access", {})
        assert "realm-management" not in told, name


@pytest.mark.parametrize(
    ("who", "kinds"),
    [("low", REFUSED | OF_USERS), ("plain", REFUSED | OF_ACCOUNTS)],
    ids=["user", "service account"],
)
def test_claims_that_contradict_each_other_or_the_session_fail(
    realm: SelfSigned, who: str, kinds: Mapping[str, Change]
) -> None:
    assert realm.answers(realm.claims(who)).introspected["active"] is True
    for name, change in kinds.items():
        answers = realm.answers(_forged(realm, who, change))
        assert answers.admin == httpx2.codes.UNAUTHORIZED, name
        assert answers.userinfo.status_code == httpx2.codes.UNAUTHORIZED, name
        if name not in DESCRIBED:
            assert answers.introspected == {"active": False}, name


def test_a_session_whose_user_is_not_the_subject_is_refused(realm: SelfSigned) -> None:
    """Another user's live session and client: all that does not fit is the subject."""
    boss, low = realm.claims("boss"), realm.claims("low")
    assert realm.answers(boss).admin == httpx2.codes.OK
    answers = realm.answers(boss | {"sub": low["sub"]})
    assert answers.admin == httpx2.codes.UNAUTHORIZED
    assert answers.introspected == {"active": False}
    assert answers.userinfo.status_code == httpx2.codes.UNAUTHORIZED


@pytest.mark.parametrize("aud", ["plain", ["plain", "app"], None, 7, {"watcher": 1}])
def test_introspection_answers_only_an_audience_of_the_token(
    realm: SelfSigned, aud: object
) -> None:
    answers = realm.answers(realm.claims("low") | {"aud": aud})
    assert answers.introspected == {"active": False}
    assert answers.admin == httpx2.codes.FORBIDDEN


def test_an_administrators_roles_come_from_sql_and_no_claim(
    realm: SelfSigned,
) -> None:
    bare = {
        name: value
        for name, value in realm.claims("automation").items()
        if name not in {"realm_access", "resource_access"}
    }
    assert realm.answers(bare).admin == httpx2.codes.OK
    url = f"{realm.stack.nginx.https}/admin/realms/{REALM}"
    headers = {"Authorization": f"Bearer {realm.stack.administrator()}"}
    (management,) = realm.stack.ask(f"{REALM}/clients", clientId="realm-management").json()
    path = f"users/{bare['sub']}/role-mappings/clients/{management['id']}"
    held = realm.stack.ask(f"{REALM}/{path}").json()
    for method, status in (("DELETE", httpx2.codes.FORBIDDEN), ("POST", httpx2.codes.OK)):
        changed = realm.stack.http.request(method, f"{url}/{path}", headers=headers, json=held)
        assert changed.is_success, changed.text
        assert realm.answers(realm.claims("automation")).admin == status
