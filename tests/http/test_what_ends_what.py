"""What was permitted once and is no more: each change beside each use, as a table.

Every cell is executed. `+` is allowed, `-` refused: Keycloak's answer, or the stricter one.
`docs/what-ends-what.md` has the same table. Keycloak: 1.7, 3, 4.2
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from cryptography import x509

from gateway.crypto.x509.development_pki import ISSUING, read_authority
from tests.support.administered_realm import AdministeredRealm, administered_realm, person
from tests.support.administration import ELLIPTIC, PASSWORD, SECRET, Administration, master
from tests.support.certificates import CertificateKeeper
from tests.support.gateway_process import start_gateway, until
from tests.support.permitted_uses import (
    DEVICE,
    USER,
    USES,
    Permitted,
    Unavailable,
    permit,
    permitting_realm,
    permitting_site,
    thumbprint,
)
from tests.support.redis_server import RedisServer
from tests.support.sign_in_browser import PUBLIC_URL, SignInBrowser
from tests.support.wire import claims_of

USES_OF_TABLE: Final = {
    "PW": "password grant",
    "SSO": "single sign-on",
    "CODE": "code",
    "REFR": "refresh",
    "OFFL": "offline refresh",
    "OTOK": "token of an offline session",
    "DEV": "device grant",
    "XCH": "token exchange",
    "XREF": "exchanged refresh",
    "INFO": "userinfo",
    "INTR": "introspection",
    "ADM": "admin API",
    "ACC": "account API",
    "CONS": "account console",
    "S-SES": "site by session",
    "S-BEA": "site by bearer",
    "S-B+C": "site by bearer and certificate",
    "S-CER": "site by certificate",
    "S-CCL": "site by certificate, client named",
    "CC": "client credentials",
    "TOSA": "token of a service account",
    "OUT": "logout",
    "OOUT": "offline logout",
}
_NEW: Final = "Another password 2"
_PAGE: Final = Path(__file__).resolve().parents[2] / "docs/what-ends-what.md"
TABLE: Final = """
change                                       | PW SSO CODE REFR OFFL OTOK DEV XCH XREF INFO INTR ADM ACC CONS S-SES S-BEA S-B+C S-CER S-CCL CC TOSA OUT OOUT
nothing                                      | +  +   +    +    +    +    +   +   +    +    +    +   +   +    +     +     +     +     +     +  +    +   +
user locked out for a time                   | -  +   +    +    +    +    -   -   +    +    +    +   +   +    +     +     +     +     +     +  +    +   +
user locked out for good                     | -  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
user disabled                                | -  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
user removed, another created with the name  | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
user removed, imported again with the id     | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
password set by an administrator             | -  +   +    +    +    +    +   +   +    +    +    +   +   +    +     +     +     +     +     +  +    +   +
password changed, other sessions signed out  | -  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
required action added                        | -  -   +    +    +    +    +   +   +    +    +    +   +   +    +     +     +     +     +     +  +    +   +
roles taken from the user                    | +  +   +    +    +    +    +   +   +    +    +    -   +   +    -     -     +     +     +     +  +    +   +
user left the group                          | +  +   +    +    +    +    +   +   +    +    +    +   +   +    -     -     +     +     +     +  +    +   +
role offline_access taken from the user      | +  +   +    +    -    -    +   +   +    +    +    +   +   +    +     +     +     +     +     +  +    +   +
consent withdrawn                            | +  -   -    -    -    -    -   -   -    -    -    -   -   +    -     -     -     +     +     +  +    -   +
session ended by an administrator            | +  -   -    -    +    +    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
offline session ended by an administrator    | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
session ended by the user                    | +  -   -    -    +    +    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
all sessions ended by the user               | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
logout with the refresh token                | +  -   -    -    +    +    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
logout with the offline token                | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
refresh token revoked                        | +  +   -    -    +    +    -   -   -    -    -    -   -   +    -     -     -     +     +     +  +    -   +
offline token revoked                        | +  +   -    -    -    -    -   -   -    -    -    -   -   +    -     -     -     +     +     +  +    -   +
access token revoked                         | +  +   +    +    +    +    +   -   -    -    -    -   -   +    +     -     -     +     +     +  +    +   +
user signed out by an administrator          | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
all sessions of the realm ended              | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  -    +   +
notBefore of the realm                       | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  -    -   -
notBefore of the client                      | +  +   -    -    -    -    -   -   +    -    -    -   -   +    -     -     -     +     +     +  +    -   -
client disabled                              | +  -   -    -    -    -    -   -   +    -    -    -   -   +    -     -     -     +     +     +  +    -   -
client removed                               | +  -   -    -    -    -    -   -   -    -    -    -   -   +    -     -     -     +     +     +  +    -   -
client removed, imported again with its id   | +  +   -    -    -    -    -   -   -    -    -    -   -   +    -     -     -     +     +     +  +    -   +
flows and grants of all clients switched off | -  -   -    +    +    +    -   -   +    +    +    +   +   +    +     +     +     +     +     -  -    +   +
client scope taken from the client           | +  -   +    +    +    +    +   +   +    +    +    +   +   +    -     -     +     +     +     +  +    +   +
offline_access taken from the client         | +  +   +    +    -    -    +   +   +    +    +    +   +   +    +     +     +     +     +     +  +    +   +
client of the audience disabled              | +  +   +    +    +    +    +   -   -    +    +    +   +   +    +     +     +     +     +     +  +    +   +
rememberMe switched off                      | +  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     +     +     +  +    +   +
realm disabled                               | -  -   -    -    -    -    -   -   -    -    -    -   -   -    -     -     -     -     -     -  -    +   +
signing key disabled                         | +  +   +    +    +    -    +   -   +    -    -    -   -   +    +     -     -     +     +     +  -    +   +
certificate denied                           | +  +   +    +    +    +    +   +   +    +    +    +   +   +    +     +     -     -     -     -  -    +   +
device locked                                | +  +   +    +    +    +    +   +   +    +    +    +   +   +    +     +     -     -     -     -  -    +   +
client of the certificate disabled           | +  +   +    +    +    +    +   +   +    +    +    +   +   +    +     +     -     -     -     -  -    +   +
service account disabled                     | +  +   +    +    +    +    +   +   +    +    +    +   +   +    +     +     +     +     +     -  -    +   +
"""  # noqa: E501 - a table


def _client(before: Permitted, client_id: str) -> str:
    (found,) = before.realm.get(f"clients?clientId={client_id}")
    return f"clients/{found['id']}"


def _user(before: Permitted, username: str = USER) -> str:
    found = before.realm.get(f"users?username={username}&exact=true")
    return f"users/{found[0]['id']}"


def _update(before: Permitted, path: str, **fields: Any) -> None:
    before.realm.change("PUT", path, fields)


def _lock_out(before: Permitted) -> None:
    form = {"grant_type": "password", "client_id": "direct", "username": USER}
    for _ in range(2):
        assert before.post("token", form | {"password": "wrong"}).is_client_error


def _lock_for_good(before: Permitted) -> None:
    _update(before, "", permanentLockout=True)
    _lock_out(before)


def _create_again(before: Permitted) -> None:
    before.realm.change("DELETE", _user(before))
    before.realm.change("POST", "users", person(USER, email=f"{USER}@example.test"))


def _import_again(before: Permitted) -> None:
    user = {**person(USER, email=f"{USER}@example.test"), "id": _user(before).partition("/")[2]}
    document = {"ifResourceExists": "OVERWRITE", "users": [user]}
    before.realm.change("POST", "partialImport", document)


def _import_client_again(before: Permitted) -> None:
    path = _client(before, "app")
    client = before.realm.get(path) | {"secret": SECRET}
    before.realm.change("DELETE", path)
    before.realm.change("POST", "partialImport", {"clients": [client]})
    assert _client(before, "app") == path


def _set_password(before: Permitted) -> None:
    body = {"type": "password", "value": _NEW}
    before.realm.change("PUT", f"{_user(before)}/reset-password", body)


def _change_password(before: Permitted) -> None:
    """Change it in another browser, where other sessions are signed out by default."""
    other = SignInBrowser(before.browser.http, before.realm.name)
    page = other.submit(
        other.open(scope="openid", kc_action="UPDATE_PASSWORD"), username=USER, password=PASSWORD
    )
    if "password-new" not in page.form.names:
        page = other.submit(page)
    fields = {"password-new": _NEW, "password-confirm": _NEW, "logout-sessions": "on"}
    other.submit(page, **fields)


def _require_action(before: Permitted) -> None:
    _update(before, _user(before), requiredActions=["UPDATE_PASSWORD"])


def _take_roles(before: Permitted) -> None:
    path = f"{_user(before)}/role-mappings"
    found = before.realm.get(path)
    worker = [role for role in found["realmMappings"] if role["name"] == "worker"]
    before.realm.change("DELETE", f"{path}/realm", worker)
    of_client = found["clientMappings"]["realm-management"]
    before.realm.change("DELETE", f"{path}/clients/{of_client['id']}", of_client["mappings"])


def _leave_group(before: Permitted) -> None:
    (group,) = before.realm.get("groups?search=team")
    before.realm.change("DELETE", f"{_user(before)}/groups/{group['id']}")


def _take_offline_role(before: Permitted) -> None:
    role = before.realm.get("roles/offline_access")
    default = f"roles/default-roles-{before.realm.name}"
    before.realm.change("DELETE", f"{default}/composites", [role])


def _withdraw_consent(before: Permitted) -> None:
    before.realm.change("DELETE", f"{_user(before)}/consents/app")


def _session(before: Permitted) -> str:
    return str(claims_of(before.tokens["access"])["sid"])


def _by_account(before: Permitted, path: str) -> None:
    http = before.realm.administration.http
    url = f"/realms/{before.realm.name}/account/{path}"
    headers = {"Authorization": f"Bearer {before.tokens['access']}"}
    assert http.delete(url, headers=headers).is_success


def _log_out(before: Permitted, token: str) -> None:
    form = {"client_id": "app", "client_secret": SECRET, "refresh_token": before.tokens[token]}
    assert before.post("logout", form).is_success


def _revoke(before: Permitted, token: str) -> None:
    form = {"client_id": "app", "client_secret": SECRET, "token": before.tokens[token]}
    assert before.post("revoke", form).content == b""


def _end_all_of_realm(before: Permitted) -> None:
    """Do it in a later second than that of the tokens: notBefore counts whole seconds."""
    issued_at = int(claims_of(before.tokens["machine"])["iat"])
    until(lambda: time.time() >= issued_at + 1, "the clock stands still")
    before.realm.change("POST", "logout-all")


def _next_second() -> int:
    return int(datetime.now(UTC).timestamp()) + 1


def _switch_off(before: Permitted) -> None:
    flags = {
        "oauth2.device.authorization.grant.enabled": "false",
        "standard.token.exchange.enabled": "false",
    }
    for name in ("app", "direct", "api", "machine"):
        client = before.realm.get(_client(before, name))
        settings = {
            "standardFlowEnabled": False,
            "directAccessGrantsEnabled": False,
            "serviceAccountsEnabled": False,
            "attributes": {**client["attributes"], **flags},
        }
        _update(before, _client(before, name), **settings)


def _take_scope(before: Permitted, name: str) -> None:
    path = f"{_client(before, 'app')}/optional-client-scopes"
    (scope,) = [each for each in before.realm.get(path) if each["name"] == name]
    before.realm.change("DELETE", f"{path}/{scope['id']}")


def _disable_key(before: Permitted) -> None:
    """Add a key of the same algorithm, and disable the one that has signed."""
    kind = {"providerType": "org.keycloak.keys.KeyProvider", "providerId": "ecdsa-generated"}
    config = {"priority": ["500"], "ecdsaEllipticCurveKey": ["P-256"]}
    used = before.realm.get("keys")["active"]["ES256"]
    (old,) = [key for key in before.realm.get("keys")["keys"] if key["kid"] == used]
    before.realm.change("POST", "components", {"name": "next", **kind, "config": config})
    component = before.realm.get(f"components/{old['providerId']}")
    component["config"] |= {"enabled": ["false"], "active": ["false"]}
    before.realm.change("PUT", f"components/{old['providerId']}", component)


def _lock_device(before: Permitted) -> None:
    path = f"{_client(before, 'machine')}/device-locks"
    before.realm.change("POST", path, {"device": DEVICE, "seconds": 60})


CHANGES: Final[Mapping[str, Callable[[Permitted], object]]] = {
    "nothing": lambda _before: None,
    "user locked out for a time": _lock_out,
    "user locked out for good": _lock_for_good,
    "user disabled": lambda before: _update(before, _user(before), enabled=False),
    "user removed, another created with the name": _create_again,
    "user removed, imported again with the id": _import_again,
    "password set by an administrator": _set_password,
    "password changed, other sessions signed out": _change_password,
    "required action added": _require_action,
    "roles taken from the user": _take_roles,
    "user left the group": _leave_group,
    "role offline_access taken from the user": _take_offline_role,
    "consent withdrawn": _withdraw_consent,
    "session ended by an administrator": lambda before: before.realm.change(
        "DELETE", f"sessions/{_session(before)}"
    ),
    "offline session ended by an administrator": lambda before: before.realm.change(
        "DELETE", f"sessions/{_session(before)}?isOffline=true"
    ),
    "session ended by the user": lambda before: _by_account(before, f"sessions/{_session(before)}"),
    "all sessions ended by the user": lambda before: _by_account(before, "sessions?current=true"),
    "logout with the refresh token": lambda before: _log_out(before, "refresh"),
    "logout with the offline token": lambda before: _log_out(before, "offline"),
    "refresh token revoked": lambda before: _revoke(before, "refresh"),
    "offline token revoked": lambda before: _revoke(before, "offline"),
    "access token revoked": lambda before: _revoke(before, "access"),
    "user signed out by an administrator": lambda before: before.realm.change(
        "POST", f"{_user(before)}/logout"
    ),
    "all sessions of the realm ended": _end_all_of_realm,
    "notBefore of the realm": lambda before: _update(before, "", notBefore=_next_second()),
    "notBefore of the client": lambda before: _update(
        before, _client(before, "app"), notBefore=_next_second()
    ),
    "client disabled": lambda before: _update(before, _client(before, "app"), enabled=False),
    "client removed": lambda before: before.realm.change("DELETE", _client(before, "app")),
    "client removed, imported again with its id": _import_client_again,
    "flows and grants of all clients switched off": _switch_off,
    "client scope taken from the client": lambda before: _take_scope(before, "phone"),
    "offline_access taken from the client": lambda before: _take_scope(before, "offline_access"),
    "client of the audience disabled": lambda before: _update(
        before, _client(before, "target"), enabled=False
    ),
    "rememberMe switched off": lambda before: _update(before, "", rememberMe=False),
    "realm disabled": lambda before: _update(before, "", enabled=False),
    "signing key disabled": _disable_key,
    "certificate denied": lambda before: before.realm.change(
        "POST", "certificates/denied", {"thumbprint": thumbprint(before.certificate)}
    ),
    "device locked": _lock_device,
    "client of the certificate disabled": lambda before: _update(
        before, _client(before, "machine"), enabled=False
    ),
    "service account disabled": lambda before: _update(
        before, _user(before, "service-account-machine"), enabled=False
    ),
}


def _rows() -> dict[str, dict[str, bool]]:
    """Return the table: change -> use -> allowed."""
    head, *lines = TABLE.strip().splitlines()
    uses = [USES_OF_TABLE[name] for name in head.partition("|")[2].split()]
    rows = {}
    for line in lines:
        change, _, cells = line.partition("|")
        allowed = [{"+": True, "-": False}[cell] for cell in cells.split()]
        rows[change.strip()] = dict(zip(uses, allowed, strict=True))
    return rows


def test_the_documentation_has_the_table() -> None:
    assert TABLE.strip() in _PAGE.read_text(encoding="utf-8")


def test_every_change_stands_beside_every_use() -> None:
    rows = _rows()
    assert rows.keys() == CHANGES.keys()
    assert all(row.keys() == USES.keys() for row in rows.values())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory, pki: Path) -> Path:
    """Issue the certificate of the machine."""
    folder = tmp_path_factory.mktemp("machine")
    keeper = CertificateKeeper(folder, read_authority(pki, ISSUING), datetime.now(UTC))
    names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(DEVICE)])
    keeper.add("machine", extensions=[(names, False)])
    return keeper.animals["machine"].certificate


def _permitted(
    stack: ExitStack,
    administration: Administration,
    name: str,
    certificate: Path,
    *,
    consent: bool = False,
) -> Permitted:
    """Make a realm with a site, and let its user and its machine have all that they may."""
    site = f"{name}.example.test"
    settings = permitting_realm(name, site)
    settings["clients"][0]["consentRequired"] = consent
    realm = stack.enter_context(administered_realm(administration, name, {}, **settings))
    realm.change("POST", "guard/sites", permitting_site(site))
    return permit(realm, site, certificate)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_ends_what_the_table_says(
    administration: Administration, certificate: Path, change: str
) -> None:
    name, consent = f"ends-{list(CHANGES).index(change)}", change == "consent withdrawn"
    with ExitStack() as stack:
        before = _permitted(stack, administration, name, certificate, consent=consent)
        CHANGES[change](before)
        found = {use: before.allowed(use) for use in USES}
    expected = _rows()[change]
    assert {use: found[use] for use in USES if found[use] != expected[use]} == {}


@pytest.mark.parametrize("with_account", [False, True], ids=["alone", "with its account"])
def test_a_client_imported_again_revives_no_account_token(
    administration: Administration,
    certificate: Path,
    with_account: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """The client and its service account may have the ids of the former ones."""
    with ExitStack() as stack:
        name = f"machine-again-{with_account}".lower()
        before = _permitted(stack, administration, name, certificate)
        path, account = _client(before, "machine"), _user(before, "service-account-machine")
        client, user = before.realm.get(path), before.realm.get(account)
        before.realm.change("DELETE", path)
        owned = {**user, "serviceAccountClientId": "machine"}
        document = {"clients": [client], "users": [owned] if with_account else []}
        before.realm.change("POST", "partialImport", document | {"ifResourceExists": "OVERWRITE"})
        assert (_user(before, "service-account-machine") == account) is with_account
        uses = ("token of a service account", "client credentials")
        assert {use: before.allowed(use) for use in uses} == {
            "token of a service account": False,
            "client credentials": True,
        }


def test_a_device_of_a_locked_out_user_is_refused_as_a_password(
    administration: Administration, certificate: Path
) -> None:
    """Keycloak: 1.8 (26.7.5)."""
    with ExitStack() as stack:
        before = _permitted(stack, administration, "guessed", certificate)
        _lock_out(before)
        form = {"client_id": "app", "client_secret": SECRET, "device_code": before.tokens["device"]}
        grant = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code"}
        refused = before.post("token", form | grant)
    assert refused.json() == {
        "error": "invalid_grant",
        "error_description": "Invalid user credentials",
    }


@pytest.mark.parametrize("end", ["offline", "online"])
def test_ending_an_online_session_keeps_rotating_offline_tokens(
    administration: Administration, certificate: Path, end: str
) -> None:
    """An offline session has the id of the online one that it began in, and tokens of its own."""
    with ExitStack() as stack:
        before = _permitted(stack, administration, f"rotating-{end}", certificate)
        _update(before, "", revokeRefreshToken=True)
        form = {"client_id": "app", "client_secret": SECRET, "grant_type": "refresh_token"}
        token = before.tokens["offline"]
        rotated = before.post("token", form | {"refresh_token": token}).json()["refresh_token"]
        before.realm.change("DELETE", f"sessions/{_session(before)}?isOffline={end == 'offline'}")
        again = before.post("token", form | {"refresh_token": rotated})
    assert again.is_success == (end == "online"), again.text


@pytest.mark.parametrize(
    ("token", "left"),
    [("refresh", {"offline refresh"}), ("offline", set[str]())],
    ids=["online", "offline"],
)
def test_a_logout_ends_the_session_of_its_token(
    administration: Administration, certificate: Path, token: str, left: set[str]
) -> None:
    """An offline token ends the online session of the same id as well, as in Keycloak."""
    with ExitStack() as stack:
        before = _permitted(stack, administration, f"logout-{token}", certificate)
        form = {"client_id": "app", "client_secret": SECRET}
        ended = before.post("logout", {**form, "refresh_token": before.tokens[token]})
        assert ended.status_code == 204, ended.text
        found = {use for use in ("refresh", "offline refresh") if before.allowed(use)}
    assert found == left


def _answer(before: Permitted, use: str) -> str:
    try:
        return "+" if before.allowed(use) else "-"
    except Unavailable:
        return "503"


def test_without_its_store_a_use_is_neither_allowed_nor_refused(
    tmp_path: Path, pki: Path, own_redis: RedisServer, certificate: Path
) -> None:
    """Sessions, lock-outs and locks of devices are in Redis; offline sessions are in SQL."""
    (tmp_path / "realms.json").write_text(json.dumps([master()]))
    with ExitStack() as stack:
        gateway = stack.enter_context(
            start_gateway(
                tmp_path,
                import_realm=tmp_path / "realms.json",
                public_url=PUBLIC_URL,
                redis_url=own_redis.url.reveal(),
                client_ca_file=pki / "ca.crt",
                client_crl_file=pki / "ca.crl",
                workers=1,
            )
        )
        http = stack.enter_context(gateway.client(**{"X-Forwarded-For": "203.0.113.9"}))
        before = _permitted(stack, Administration(gateway, http), "without", certificate)
        own_redis.stop()
        found = {use: _answer(before, use) for use in USES}
        own_redis.start()
        until(lambda: _answer(before, "password grant") == "+", "the gateway does not recover")
    offline = {"offline refresh", "token of an offline session"}
    assert {use for use, answer in found.items() if answer != "503"} == offline
    assert {found[use] for use in offline} == {"+"}


def test_a_sign_in_that_is_remembered_no_more_is_a_plain_one(
    administration: Administration,
) -> None:
    """The realm has switched rememberMe off while the user was at the second page."""
    users = [person(USER, requiredActions=["UPDATE_PASSWORD"])]
    settings = {**permitting_realm("plain", "plain.example.test"), "users": users}
    with administered_realm(administration, "plain", {}, **settings) as realm:
        browser = SignInBrowser(administration.http, realm.name)
        page = browser.submit(browser.open(), username=USER, password=PASSWORD, rememberMe="on")
        realm.change("PUT", "", {"rememberMe": False})
        fields = {"password-new": _NEW, "password-confirm": _NEW}
        code = browser.submit(page, **fields).answer["code"]
        assert browser.redeem(code).is_success
        assert "code" in browser.open(prompt="none").answer


_TWO_REALMS: Final = """
[[sites]]
name = "owner-last"
hosts = ["owner-last.example.test"]
realms = ["first", "owning"]
rules = [{ name = "all", paths = ["/*"], accepts = ["certificate"] }]

[[sites]]
name = "owner-first"
hosts = ["owner-first.example.test"]
realms = ["owning", "first"]
rules = [{ name = "all", paths = ["/*"], accepts = ["certificate"] }]
"""
_SITES: Final = ("owner-last.example.test", "owner-first.example.test")


def test_no_other_realm_of_a_site_admits_a_locked_device(
    tmp_path: Path, pki: Path, certificate: Path
) -> None:
    """Both realms of the sites trust the certificate; one has the client of the device."""
    owning = {**permitting_realm("owning", _SITES[0]), "realm": "owning", **ELLIPTIC}
    realms = [master(), {"realm": "first", **ELLIPTIC}, owning]
    (tmp_path / "realms.json").write_text(json.dumps(realms))
    (tmp_path / "rules.toml").write_text(_TWO_REALMS)
    with ExitStack() as stack:
        gateway = stack.enter_context(
            start_gateway(
                tmp_path,
                import_realm=tmp_path / "realms.json",
                guard_file=tmp_path / "rules.toml",
                public_url=PUBLIC_URL,
                client_ca_file=pki / "ca.crt",
                client_crl_file=pki / "ca.crl",
                workers=1,
            )
        )
        http = stack.enter_context(gateway.client(**{"X-Forwarded-For": "203.0.113.9"}))
        realm = AdministeredRealm(Administration(gateway, http), "owning")
        browser = SignInBrowser(http, "owning")
        sites = [Permitted(realm, site, certificate, browser, {}, "") for site in _SITES]

        def admitted() -> set[bool]:
            return {each.allowed("site by certificate") for each in sites}

        def changes(change: Callable[[], object], now: bool) -> None:  # noqa: FBT001
            change()
            # An identity is kept for half a second.
            until(lambda: admitted() == {now}, f"the sites do not answer {now}", deadline=3)

        assert admitted() == {True}
        client = _client(sites[0], "machine")
        locks = f"{client}/device-locks"
        changes(lambda: _lock_device(sites[0]), now=False)
        changes(lambda: realm.change("DELETE", f"{locks}?device={quote(DEVICE)}"), now=True)
        changes(lambda: _update(sites[0], client, enabled=False), now=False)
        changes(lambda: _update(sites[0], client, enabled=True), now=True)
        changes(lambda: _update(sites[0], "", enabled=False), now=False)
