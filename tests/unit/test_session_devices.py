"""The browser of a session, by the header User-Agent. Keycloak: 17.3.

Each name was compared with that of Keycloak 26.7.3.
"""

from typing import Final

import pytest

from gateway.domain.sessions import device_of

_WEBKIT: Final = "AppleWebKit/537.36 (KHTML, like Gecko)"
_PHONE: Final = "Mozilla/5.0 (Linux; Android 13; Pixel 7)"


@pytest.mark.parametrize(
    ("user_agent", "browser"),
    [
        (
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {_WEBKIT} Chrome/120.0.0.0 Safari/537.36",
            "Chrome/120.0.0",
        ),
        (
            f"{_PHONE} {_WEBKIT} Chrome/119.0.0.0 Mobile Safari/537.36",
            "Chrome Mobile/119.0.0",
        ),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0", "Firefox/120.0"),
        ("curl/8", "curl/8"),
    ],
)
def test_a_browser_has_the_name_and_version_that_keycloak_shows(
    user_agent: str, browser: str
) -> None:
    assert device_of(user_agent).browser == browser
