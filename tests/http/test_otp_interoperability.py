"""Devices for one-time codes as other programs understand them, for every policy of a realm.

The gateway sets up a device on its pages; two programs that share no code, pyotp and oathtool, read
what the pages show and make the codes. The clock stands still where no test lets time pass.
Keycloak: 6, 16.1. Spec: RFC 4226, RFC 6238, otpauth URIs.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Final

import pyotp
import pytest
import segno

from tests.support.administered_realm import administered_realm, person
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client
from tests.support.timed_gateway import Timed

WRONG: Final = "Invalid authenticator code."
COUNTED, BY_TIME = "hotp", "totp"
_FIRST_COUNTER: Final = 7


@dataclass(frozen=True, slots=True)
class Policy:
    """What a realm demands of new devices; a counted code has no period."""

    kind: str
    algorithm: str
    digits: int
    period: int
    window: int

    @property
    def username(self) -> str:
        return f"{self.kind}-{self.algorithm}-{self.digits}-{self.period}-{self.window}".lower()

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "otpPolicyType": self.kind,
            "otpPolicyAlgorithm": f"Hmac{self.algorithm}",
            "otpPolicyDigits": self.digits,
            "otpPolicyPeriod": self.period,
            "otpPolicyLookAheadWindow": self.window,
            "otpPolicyInitialCounter": _FIRST_COUNTER,
        }


POLICIES: Final = tuple(
    Policy(kind, algorithm, digits, period, window)
    for kind, algorithm, digits, period, window in product(
        (BY_TIME, COUNTED), ("SHA1", "SHA256", "SHA512"), (6, 8), (30, 45), (0, 2)
    )
    if kind == BY_TIME or period == 30
)


@dataclass(frozen=True, slots=True)
class Device:
    """A device that was set up with what its page shows, and no more."""

    policy: Policy
    secret: str

    @classmethod
    def of(cls, policy: Policy, page: Page) -> "Device":
        """Read the page; its QR code must say the same."""
        shown = dict(re.findall(r'id="kc-totp-([a-z-]+)"[^>]*>([^<]+)<', page.html))
        assert (shown["algorithm"], int(shown["digits"])) == (policy.algorithm, policy.digits)
        last = shown["counter"] if policy.kind == COUNTED else shown["period"]
        expected = _FIRST_COUNTER if policy.kind == COUNTED else policy.period
        assert int(last) == expected
        device = cls(policy, shown["secret-key"].replace(" ", ""))
        assert _modules(page) == _modules_of(device.uri)
        return device

    @property
    def uri(self) -> str:
        policy = self.policy
        last = f"counter={_FIRST_COUNTER}"
        if policy.kind == BY_TIME:
            last = f"period={policy.period}"
        return (
            f"otpauth://{policy.kind}/interoperable:{policy.username}?secret={self.secret}"
            f"&digits={policy.digits}&algorithm={policy.algorithm}&issuer=interoperable&{last}"
        )

    def code(self, moment: datetime, offset: int) -> str:
        """Return the code that both programs show, so many steps from now or the first counter."""
        otp = pyotp.parse_uri(self.uri)
        if isinstance(otp, pyotp.TOTP):
            made = otp.at(moment, counter_offset=offset)
            step = timedelta(seconds=self.policy.period)
            by_time = (f"--time-step-size={self.policy.period}s", *_now(moment + offset * step))
            assert self._by_oathtool(*by_time) == made
            return made
        assert isinstance(otp, pyotp.HOTP)
        counter = _FIRST_COUNTER + offset
        made = otp.at(offset)
        # oathtool counts with SHA-1 alone; a step of one second makes time a counter.
        instant = datetime.fromtimestamp(counter, UTC)
        assert self._by_oathtool("--time-step-size=1s", *_now(instant)) == made
        return made

    def _by_oathtool(self, *options: str) -> str:
        mode, digits = self.policy.algorithm.lower(), str(self.policy.digits)
        done = subprocess.run(
            ["oathtool", f"--totp={mode}", f"--digits={digits}", "--base32", *options, "-"],
            input=self.secret,
            capture_output=True,
            text=True,
            check=True,
            timeout=5,
        )
        return done.stdout.strip()


def _now(moment: datetime) -> tuple[str]:
    return (f"--now={moment:%Y-%m-%d %H:%M:%S} UTC",)


def _modules(page: Page) -> set[tuple[int, int]]:
    """Return the dark modules of the QR code on a page."""
    runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", page.html)
    return {(int(x) + place, int(y)) for x, y, length in runs for place in range(int(length))}


def _modules_of(text: str) -> set[tuple[int, int]]:
    rows = segno.make_qr(text, error="m").matrix_iter(border=4)
    return {(x, y) for y, row in enumerate(rows) for x, module in enumerate(row) if module}


@pytest.fixture(scope="module")
def interoperable(timed: Timed) -> Iterator[SignInRealm]:
    """Make a realm with a user for each policy, who has to set up a device."""
    users = [person(each.username, requiredActions=["CONFIGURE_TOTP"]) for each in POLICIES]
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)",
        "clients": [web_client("app")],
        "users": users,
    }
    with administered_realm(timed.administration, "interoperable", {}, **settings) as realm:
        yield SignInRealm(realm)


def _sign_in(browser: SignInBrowser, username: str, *codes: str) -> list[str | None]:
    """Try codes after each other; return the message of each, None for the one that signs in."""
    page, messages = browser.sign_in(username), []
    for code in codes:
        page = browser.submit(page, otp=code)
        messages.append(None if "location" in page.response.headers else page.message)
    return messages


def test_every_program_makes_the_codes_of_every_policy(
    timed: Timed, interoperable: SignInRealm
) -> None:
    """Of type, algorithm, digits, period and look-ahead window, exactly."""
    for policy in POLICIES:
        interoperable.realm.change("PUT", "", policy.settings)
        browser, window = interoperable.browser(), policy.window
        page = browser.sign_in(policy.username)
        device = Device.of(policy, page)
        now = timed.clock.now()
        refused = browser.submit(page, totp=device.code(now, window + 1))
        assert refused.message == WRONG, policy
        assert browser.submit(refused, totp=device.code(now, window)).answer["code"], policy
        again = interoperable.browser()
        if policy.kind == BY_TIME:
            timed.clock.set(timed.clock.now() + timedelta(seconds=policy.period))
            now, first = timed.clock.now(), 0
            beyond = [-window - 1, window + 1, *([window - 1] if window else [])]
            used = [window - 1] if window else [-1]
        else:
            first = window + 1
            beyond, used = [first + window + 1], [window]
        codes = [device.code(now, offset) for offset in (*beyond, *used, first + window)]
        found = _sign_in(again, policy.username, *codes)
        assert found == [*[WRONG] * (len(codes) - 1), None], policy
