"""Settings of realms for passwords, one-time passwords, events, TLS and headers.

Each is changed over the admin API of a running gateway whose clock is set, and its effect is seen
over HTTP. Spec: 2.1, 2.2, 2.3
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pyotp
import pytest

from tests.support.administered_realm import SIGN_IN, administered_realm, person
from tests.support.administration import PASSWORD, SECRET
from tests.support.one_time_devices import base32
from tests.support.sign_in_browser import Page, SignInRealm, web_client
from tests.support.timed_gateway import Timed
from tests.support.tokens import header_of
from tests.support.wire import DEVICE, DEVICE_KEY

_DAY: Final = 86_400
_NEW: Final = "another-Passw0rd"
_HASH: Final = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)"
_HEADERS: Final = {
    "x-frame-options": "xFrameOptions",
    "content-security-policy-report-only": "contentSecurityPolicyReportOnly",
    "x-content-type-options": "xContentTypeOptions",
    "x-robots-tag": "xRobotsTag",
    "content-security-policy": "contentSecurityPolicy",
    "strict-transport-security": "strictTransportSecurity",
}


@dataclass(frozen=True, slots=True)
class Changing:
    """The realm, and the time."""

    timed: Timed
    realm: SignInRealm

    def set(self, **settings: Any) -> None:
        """Change settings of the realm over the admin API."""
        self.realm.realm.change("PUT", "", settings)

    def add(self, name: str, **fields: Any) -> str:
        """Add a user; return the path of the user."""
        return "users/" + self.realm.realm.change("POST", "users", person(name, **fields))

    def sign_in(self, name: str, password: str = PASSWORD, **form: str) -> httpx2.Response:
        """Sign in by password."""
        sent = {"grant_type": "password", "client_id": "app", "client_secret": SECRET}
        browser = self.realm.browser()
        credentials = {"username": name, "password": password}
        return browser.http.post(browser.protocol("token"), data=sent | credentials | form)

    def code(self, steps: int, period: int = 30) -> str:
        """Return the code of the device, by the clock, some steps off."""
        at = self.timed.clock.now()
        return pyotp.TOTP(base32(DEVICE_KEY), interval=period).at(at, counter_offset=steps)

    def recorded(self, path: str) -> list[dict[str, Any]]:
        """Return the events."""
        found: list[dict[str, Any]] = self.realm.realm.get(path)
        return found


@pytest.fixture(scope="module")
def _realm(timed: Timed) -> Iterator[SignInRealm]:
    app = web_client("app", directAccessGrantsEnabled=True, serviceAccountsEnabled=True)
    settings = {**SIGN_IN, "adminEventsEnabled": False, "clients": [app]}
    with administered_realm(timed.administration, "timed-settings", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture
def changing(timed: Timed, _realm: SignInRealm) -> Iterator[Changing]:
    """Return the realm; its settings are put back afterwards."""
    before = _realm.realm.get("")
    yield Changing(timed, _realm)
    _realm.realm.change("PUT", "", before)
    for path in ("events", "admin-events"):
        _realm.realm.change("DELETE", path)


def test_a_password_expires_after_the_days_of_the_policy(changing: Changing) -> None:
    changing.add("old")
    changing.timed.advance(seconds=30 * _DAY)
    assert changing.sign_in("old").is_success
    changing.set(passwordPolicy=f"{_HASH} and forceExpiredPasswordChange(31)")
    assert changing.sign_in("old").is_success
    changing.set(passwordPolicy=f"{_HASH} and forceExpiredPasswordChange(29)")
    refused = changing.sign_in("old").json()
    assert refused["error_description"] == "Account is not fully set up"
    browser = changing.realm.browser()
    page = browser.sign_in("old")
    done = browser.submit(page, **{"password-new": _NEW, "password-confirm": _NEW})
    assert done.answer["code"]
    changing.timed.advance(seconds=29 * _DAY)
    assert changing.sign_in("old", _NEW).is_success, "the new password has its own 29 days"
    changing.timed.advance(seconds=_DAY)
    assert not changing.sign_in("old", _NEW).is_success


def test_as_many_former_passwords_as_the_policy_says_are_refused(changing: Changing) -> None:
    changing.set(passwordPolicy=f"{_HASH} and passwordHistory(2)")
    path = f"{changing.add('former')}/reset-password"

    def sets(value: str) -> bool:
        document = {"type": "password", "value": value}
        return changing.realm.realm.ask("PUT", path, document).is_success

    assert [sets(value) for value in (PASSWORD, "second", PASSWORD, "third", PASSWORD)] == [
        False,
        True,
        False,
        True,
        True,
    ]


def test_the_rules_of_the_policy_hold_from_the_next_password_on(changing: Changing) -> None:
    path = f"{changing.add('ruled')}/reset-password"
    changing.realm.realm.change("PUT", path, {"type": "password", "value": "short"})
    rules = "digits(1) and lowerCase(1) and upperCase(1) and notUsername and length(16)"
    changing.set(passwordPolicy=f"{_HASH} and {rules}")
    assert changing.sign_in("ruled", "short").is_success
    for value in ("short", "no upper case 12345", "NO LOWER CASE 12345", "No digit in this one"):
        status, refusal = changing.realm.realm.refused(
            "PUT", path, {"type": "password", "value": value}
        )
        assert (status, refusal["error"][:15]) == (400, "invalidPassword"), value
    fine = {"type": "password", "value": "Everything that 1 wants"}
    changing.realm.realm.change("PUT", path, fine)


def test_codes_are_accepted_within_the_look_ahead_window(changing: Changing) -> None:
    devices = [{"type": "password", "value": PASSWORD}, DEVICE]
    changing.add("ahead", credentials=devices)

    def accepted(*steps: int) -> list[bool]:
        """Try codes some steps off; each time it is another period, so none was used before."""
        found = []
        for step in steps:
            changing.timed.advance(seconds=300)
            found.append(changing.sign_in("ahead", totp=changing.code(step)).is_success)
        return found

    changing.set(otpPolicyLookAheadWindow=0)
    assert accepted(-1, 0, 1) == [False, True, False]
    changing.set(otpPolicyLookAheadWindow=1)
    assert accepted(-2, -1, 0, 1, 2) == [False, True, True, True, False]
    changing.set(otpPolicyLookAheadWindow=3)
    assert accepted(-4, -3, 3, 4) == [False, True, True, False]


def test_a_code_is_taken_once_unless_the_realm_lets_it_be_reused(changing: Changing) -> None:
    changing.add("reuse", credentials=[{"type": "password", "value": PASSWORD}, DEVICE])
    for reusable in (False, True):
        changing.timed.advance(seconds=300)
        changing.set(otpPolicyCodeReusable=reusable)
        assert changing.sign_in("reuse", totp=changing.code(0)).is_success
        assert changing.sign_in("reuse", totp=changing.code(0)).is_success is reusable


def _shown_secret(page: Page) -> str:
    """Return the secret of a new device, as a person types it in."""
    shown = re.search(r'id="kc-totp-secret-key"[^>]*>([^<]*)<', page.html)
    assert shown is not None
    return shown[1].replace(" ", "")


@pytest.mark.parametrize(
    ("algorithm", "digits", "period"),
    [("HmacSHA1", 8, 30), ("HmacSHA256", 6, 60), ("HmacSHA512", 6, 45)],
)
def test_a_new_device_makes_codes_as_the_policy_says(
    changing: Changing, algorithm: str, digits: int, period: int
) -> None:
    changing.set(
        otpPolicyType="totp",
        otpPolicyAlgorithm=algorithm,
        otpPolicyDigits=digits,
        otpPolicyPeriod=period,
        otpPolicyLookAheadWindow=0,
    )
    name = f"with-{algorithm}".lower()
    changing.add(name, requiredActions=["CONFIGURE_TOTP"])
    browser = changing.realm.browser()
    page = browser.sign_in(name)
    digest = algorithm.removeprefix("Hmac").lower()
    device = pyotp.TOTP(_shown_secret(page), digits=digits, digest=digest, interval=period)
    assert browser.submit(page, totp=device.at(changing.timed.clock.now())).answer["code"]
    changing.timed.advance(seconds=10 * period)
    for seconds, holds in ((-1, False), (0, True)):
        moment = changing.timed.clock.now().timestamp() // period * period + seconds
        assert changing.sign_in(name, totp=device.at(int(moment))).is_success is holds


def test_a_device_counts_where_the_policy_says_so(changing: Changing) -> None:
    changing.set(otpPolicyType="hotp", otpPolicyInitialCounter=5, otpPolicyLookAheadWindow=1)
    changing.add("counts", requiredActions=["CONFIGURE_TOTP"])
    browser = changing.realm.browser()
    page = browser.sign_in("counts")
    device = pyotp.HOTP(_shown_secret(page))
    assert browser.submit(page, totp=device.at(5)).answer["code"]
    changing.timed.advance(days=3)
    assert [
        changing.sign_in("counts", totp=device.at(count)).is_success for count in (5, 8, 7)
    ] == [
        False,
        False,
        True,
    ]


def test_sign_ins_are_recorded_while_events_are_enabled(changing: Changing) -> None:
    changing.add("recorded")
    for enabled, number in ((False, 0), (True, 1), (False, 1)):
        changing.set(eventsEnabled=enabled)
        assert changing.sign_in("recorded").is_success
        assert [event["type"] for event in changing.recorded("events")] == ["LOGIN"] * number


def test_events_are_deleted_when_they_expire(changing: Changing) -> None:
    """Those of users and those of administrators, each kind after its own time."""
    expiration = {"adminEventsExpiration": "3000"}
    changing.set(eventsEnabled=True, adminEventsEnabled=True)
    changing.set(eventsExpiration=1000, attributes=expiration)
    changing.realm.realm.change("DELETE", "admin-events")
    early = changing.add("early")
    changing.sign_in("early")
    changing.timed.advance(seconds=2900)
    late = changing.add("late")
    changing.sign_in("late", "wrong")

    def left(after: float) -> tuple[list[str], list[str]]:
        changing.timed.advance(seconds=after)
        changing.timed.keep_house()
        users, admins = (changing.recorded(path) for path in ("events", "admin-events"))
        return [one["type"] for one in users], [one["resourcePath"] for one in admins]

    assert left(after=50) == (["LOGIN_ERROR"], [late, early])
    assert left(after=1000) == ([], [late])


def test_changes_are_recorded_while_admin_events_are_enabled(changing: Changing) -> None:
    changing.set(adminEventsEnabled=True, adminEventsDetailsEnabled=False)
    changing.realm.realm.change("DELETE", "admin-events")
    first = changing.add("first")
    changing.set(adminEventsEnabled=False)
    before = [event.get("resourcePath") for event in changing.recorded("admin-events")]
    changing.add("second")
    after = [event.get("resourcePath") for event in changing.recorded("admin-events")]
    assert first in before
    assert after == before


def test_admin_events_hold_the_sent_body_where_enabled(changing: Changing) -> None:
    for details in (False, True):
        changing.set(adminEventsEnabled=True, adminEventsDetailsEnabled=details)
        changing.realm.realm.change("DELETE", "admin-events")
        name = f"detailed-{details}".lower()
        changing.add(name)
        (event,) = changing.recorded("admin-events")
        assert (name in event.get("representation", "")) is details


@pytest.mark.parametrize(
    ("required", "plain", "private"),
    [("all", False, False), ("external", False, True), ("none", True, True)],
)
def test_requests_without_tls_are_refused_where_it_is_required(
    changing: Changing, required: str, *, plain: bool, private: bool
) -> None:
    changing.set(sslRequired=required)
    http, url = changing.timed.administration.http, "/realms/timed-settings"
    token = f"{url}/protocol/openid-connect/token"
    form = {"grant_type": "client_credentials", "client_id": "app", "client_secret": SECRET}

    def accepted(scheme: str, address: str) -> bool:
        headers = {"X-Forwarded-Proto": scheme, "X-Forwarded-For": address}
        response = http.post(token, data=form, headers=headers)
        assert response.is_success or "HTTPS required" in response.text, response.text
        return response.is_success

    assert accepted("https", "203.0.113.9")
    assert accepted("http", "203.0.113.9") is plain
    assert accepted("http", "10.1.2.3") is private


def test_tokens_are_signed_by_the_default_algorithm(changing: Changing) -> None:
    changing.add("signed")
    for algorithm in ("ES384", "ES256"):
        changing.set(defaultSignatureAlgorithm=algorithm)
        token = changing.sign_in("signed").json()["access_token"]
        assert header_of(token)["alg"] == algorithm


def test_pages_carry_the_headers_of_the_realm(changing: Changing) -> None:
    page = changing.realm.browser().open()
    assert page.response.headers["x-frame-options"] == "SAMEORIGIN"
    sent = {
        "xFrameOptions": "SOMEORIGIN",
        "contentSecurityPolicyReportOnly": "default-src 'self'",
        "xContentTypeOptions": "nosniff",
        "xRobotsTag": "noindex",
        "contentSecurityPolicy": "frame-src 'self'; frame-ancestors 'self'; object-src 'none';",
        "strictTransportSecurity": "max-age=600",
    }
    changing.set(browserSecurityHeaders=sent)
    headers = changing.realm.browser().open().response.headers
    seen = {setting: headers[header] for header, setting in _HEADERS.items()}
    policy = seen.pop("contentSecurityPolicy")
    assert seen.items() <= sent.items()
    assert all(part in policy for part in ("frame-src 'self'", "object-src 'none'"))


def test_a_realm_has_the_id_and_the_name_that_it_is_given(timed: Timed) -> None:
    settings = {**SIGN_IN, "id": "chosen-id", "adminEventsEnabled": True}
    with administered_realm(timed.administration, "timed-name", {}, **settings) as realm:
        assert realm.get("")["id"] == "chosen-id"
        http = timed.administration.http
        assert http.get("/realms/timed-name").json()["realm"] == "timed-name"
        realm.change("PUT", "", {"realm": "timed-other-name"})
        assert http.get("/realms/timed-name").status_code == httpx2.codes.NOT_FOUND
        metadata = http.get("/realms/timed-other-name/.well-known/openid-configuration").json()
        assert metadata["issuer"] == "https://gateway.test/realms/timed-other-name"
        events = timed.administration.ask("GET", "timed-other-name/admin-events").json()
        assert {event["realmId"] for event in events} == {"chosen-id"}
        assert timed.administration.ask("DELETE", "timed-other-name").is_success
