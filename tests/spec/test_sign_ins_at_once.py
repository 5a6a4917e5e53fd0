"""Sign-ins in many browsers at once, at two gateways behind nginx: what counts once counts once.

attacks: C4, D1, D7
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

import httpx2
import pyotp
import pytest

from tests.support.one_time_devices import base32
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser
from tests.support.spec_stack import FACTOR, Stack, refusal
from tests.support.wire import DEVICE_KEY, PASSWORD, SECRET

REALM: Final = "browsers"
_AT_ONCE: Final = 50
_GUESSES: Final = 200
_ATTEMPTS: Final = 30
_INVALID: Final = (400, "invalid_grant", "Code not valid")


@pytest.fixture(scope="module")
def browser(pair: Stack) -> Iterator[Callable[[], SignInBrowser]]:
    """Return what starts a browser, whose requests go to both gateways in turn."""
    with ExitStack() as running:

        def start() -> SignInBrowser:
            http = running.enter_context(pair.nginx.client())
            http.base_url = httpx2.URL(pair.nginx.https)
            http.timeout = httpx2.Timeout(60)
            return SignInBrowser(http, REALM, public_url=pair.nginx.https)

        yield start


def _code() -> str:
    return pyotp.TOTP(base32(DEVICE_KEY)).now()


def _at_the_code(browser: SignInBrowser, username: str) -> Page:
    page = browser.submit(browser.open("web"), username=username, password=PASSWORD)
    assert page.id == "login-otp", page.text
    return page


def test_of_50_redemptions_of_a_code_one_wins_and_its_tokens_end(
    pair: Stack, browser: Callable[[], SignInBrowser]
) -> None:
    """RFC 6749 §4.1.2; attacks: C4."""
    one = browser()
    done = one.submit(_at_the_code(one, pair.fresh(REALM)), otp=_code())
    form = {
        "grant_type": "authorization_code",
        "client_id": "web",
        "client_secret": SECRET,
        "redirect_uri": CALLBACK,
        "code": done.answer["code"],
    }
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(lambda _: pair.token(REALM, form), range(_AT_ONCE)))
    [won] = [answer for answer in answers if answer.status_code == httpx2.codes.OK]
    assert {refusal(answer) for answer in answers if answer is not won} == {_INVALID}
    tokens = won.json()
    assert pair.userinfo(tokens["access_token"], REALM).status_code == 401
    own = {"client_id": "web", "client_secret": SECRET}
    refused = refusal(pair.refresh(tokens["refresh_token"], REALM, **own))
    assert refused[:2] == (400, "invalid_grant")


def _submit(browser: SignInBrowser, page: Page, **fields: str) -> Page:
    """Send the form until the gateway has time for a hash."""
    answer = browser.submit(page, **fields)
    for _ in range(_ATTEMPTS):
        if answer.status != httpx2.codes.SERVICE_UNAVAILABLE:
            break
        answer = browser.submit(browser.open("web"), **fields)
    return answer


def test_of_200_guesses_on_pages_as_many_as_allowed_are_checked(
    pair: Stack, browser: Callable[[], SignInBrowser]
) -> None:
    """attacks: D1."""
    name = pair.fresh(REALM)
    before = pair.counted("failed_login")
    guessers = [browser() for _ in range(_AT_ONCE)]

    def guess(number: int) -> Page:
        one = guessers[number]
        page = one.open("web")
        for turn in range(_GUESSES // _AT_ONCE):
            password = f"guess {number} {turn}"
            page = _submit(one, page, username=name, password=password)
        return page

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        pages = list(pool.map(guess, range(_AT_ONCE)))
    assert {page.message for page in pages} == {"Invalid username or password."}
    assert pair.attack_status(name, REALM)["numFailures"] == FACTOR
    assert pair.counted("failed_login") - before == FACTOR
    one = browser()
    locked = one.submit(one.open("web"), username=name, password=PASSWORD)
    assert locked.message == "Invalid username or password."


def test_of_many_browsers_with_one_code_of_a_device_one_signs_in(
    pair: Stack, browser: Callable[[], SignInBrowser]
) -> None:
    """RFC 6238 §5.2; attacks: D7."""
    name = pair.fresh(REALM)
    several = [browser() for _ in range(20)]
    pages = [_at_the_code(one, name) for one in several]
    code = _code()
    with ThreadPoolExecutor(len(several)) as pool:
        ends = list(pool.map(lambda n: several[n].submit(pages[n], otp=code), range(len(several))))
    [won] = [page for page in ends if page.status == httpx2.codes.FOUND]
    assert won.answer["code"]
    signed_in = [one for one in several if "KEYCLOAK_IDENTITY" in one.cookies]
    assert len(signed_in) == 1
