"""The gateway's URLs at protected sites, and the parameter that says where to go afterwards."""

from typing import Final
from urllib.parse import quote

from gateway.forward_auth.browser.return_urls import LONGEST_RETURN_URL, OWN_PATHS

SIGN_IN_PATH: Final = f"{OWN_PATHS}sign-in"
CALLBACK_PATH: Final = f"{OWN_PATHS}callback"
SIGN_OUT_PATH: Final = f"{OWN_PATHS}sign-out"
REFUSED_PATH: Final = f"{OWN_PATHS}refused"
WANTED: Final = "rd"


def leading_to(path: str, wanted: str | None) -> str:
    """Return the path with the URL to go to afterwards, without it where it is too long."""
    if wanted is None or len(wanted) > LONGEST_RETURN_URL:
        return path
    return f"{path}?{WANTED}={quote(wanted, safe='')}"
