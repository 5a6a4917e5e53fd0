"""A browser at protected sites behind a real nginx: it keeps cookies as browsers do.

Cookies are kept by host, or for a whole domain. The rules for the prefixes `__Host-` and
`__Secure-` are asserted: a browser would drop a cookie that breaks them.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx2

from tests.support.protected_sites import HOST, Protected
from tests.support.sign_in_browser import PUBLIC_URL, Page
from tests.support.wire import PASSWORD

HOME: Final = f"https://{HOST}/home/"
SESSION_COOKIE: Final = "__Host-realmgate-session"
PENDING_COOKIE: Final = "__Host-realmgate-sign-in-"
_GATEWAY: Final = urlsplit(PUBLIC_URL).netloc
_PEOPLE: Final = {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Mode": "navigate"}
_MOST_REDIRECTS: Final = 10


@dataclass
class SiteBrowser:
    """One browser. `cookies` are by host, or by domain with a dot before it."""

    protected: Protected
    cookies: dict[str, dict[str, str]] = field(default_factory=dict)
    url: str = ""
    """Where the last response came from."""
    headers: dict[str, str] = field(default_factory=lambda: dict(_PEOPLE))

    def open(self, url: str, **headers: str) -> Page:
        """Ask for a page and follow nothing."""
        return self.ask("GET", url, headers=headers)

    def visit(self, url: str = HOME) -> Page:
        """Ask for a page, and follow redirects to the page that the user sees."""
        page = self.open(url)
        for _ in range(_MOST_REDIRECTS):
            if "location" not in page.response.headers:
                return page
            page = self.open(urljoin(self.url, page.response.headers["location"]))
        raise AssertionError("the redirects do not end")

    def send(self, url: str, fields: Mapping[str, str], **headers: str) -> Page:
        """Send a form from a page of the same origin, and follow nothing."""
        url = urljoin(self.url, url)
        parts = urlsplit(url)
        own = {"Origin": f"https://{parts.netloc}", "Sec-Fetch-Site": "same-origin", **headers}
        return self.ask("POST", url, headers=own, data=dict(fields))

    def submit(self, page: Page, **fields: str) -> Page:
        """Fill in the form of a page, send it, and follow redirects."""
        sent = self.send(page.form.action, {**page.form.fields, **fields})
        location = sent.response.headers.get("location")
        return sent if location is None else self.visit(urljoin(self.url, location))

    def sign_in(self, username: str = "ada", url: str = HOME) -> Page:
        """Visit a page and sign in; return the page."""
        return self.submit(self.visit(url), username=username, password=PASSWORD)

    def ask(self, method: str, url: str, headers: Mapping[str, str], **sent: Any) -> Page:
        """Send a request with the cookies of its host."""
        parts = urlsplit(url)
        assert parts.scheme == "https", url
        cookie = "; ".join(f"{name}={value}" for name, value in self._cookies(parts.netloc))
        host = "localhost" if parts.netloc == _GATEWAY else parts.netloc
        query = f"?{parts.query}" if parts.query else ""
        own = {**self.headers, **({"Cookie": cookie} if cookie else {}), "Host": host}
        with self.protected.nginx.client() as http:
            response = http.request(
                method,
                f"{self.protected.nginx.https}{parts.path}{query}",
                headers=own | dict(headers),
                **sent,
            )
        self.url = url
        for header in response.headers.get_list("set-cookie"):
            self._keep(parts.netloc, header)
        return Page(response)

    def is_signed_in(self) -> bool:
        """Tell whether the service is reached now; an answer may be half a second old."""
        return self.open(HOME).status == httpx2.codes.OK

    def is_refused_within_a_second(self) -> bool:
        """Tell whether the service is reached no more."""
        end = time.monotonic() + 1.0
        while self.is_signed_in():
            if time.monotonic() > end:
                return False
        return True

    def cookie(self, name: str = SESSION_COOKIE, host: str = HOST) -> str | None:
        """Return the value of a cookie that the host gets."""
        return dict(self._cookies(host)).get(name)

    def pending(self, host: str = HOST) -> dict[str, str]:
        """Return the cookies of sign-ins that wait for the user."""
        return {
            name: value for name, value in self._cookies(host) if name.startswith(PENDING_COOKIE)
        }

    def _cookies(self, host: str) -> list[tuple[str, str]]:
        return [
            cookie
            for owner, kept in self.cookies.items()
            if owner == host or (owner.startswith(".") and f".{host}".endswith(owner))
            for cookie in kept.items()
        ]

    def _keep(self, host: str, header: str) -> None:
        pair, *attributes = header.split("; ")
        name, _, value = pair.partition("=")
        domains = [each[7:] for each in attributes if each.lower().startswith("domain=")]
        if name.startswith("__"):
            assert "Secure" in attributes, header
        if name.startswith("__Host-"):
            assert "Path=/" in attributes, header
            assert domains == [], header
        owner = f".{domains[0]}" if domains else host
        assert f".{host}".endswith(owner) or owner == host, header
        kept = self.cookies.setdefault(owner, {})
        if "Max-Age=0" in attributes:
            kept.pop(name, None)
        else:
            kept[name] = value
