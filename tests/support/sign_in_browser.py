"""A browser that signs users in: it keeps cookies, follows nothing, and fills in forms.

It asks as the proxy does, so that cookies are those of TLS.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2

from tests.support.administered_realm import AdministeredRealm
from tests.support.administration import PASSWORD, SECRET

CALLBACK: Final = "https://app.example.test/callback"
PUBLIC_URL: Final = "https://gateway.test"


def web_client(client_id: str, **fields: Any) -> dict[str, Any]:
    """Return a client that users sign in to with a browser."""
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "redirectUris": [CALLBACK],
        "standardFlowEnabled": True,
    } | fields


@dataclass(frozen=True, slots=True)
class Form:
    """Where a form is sent to, and what it sends if nobody changes it."""

    action: str
    fields: Mapping[str, str]
    names: frozenset[str]
    """Of all fields and buttons."""


class _FormReader(HTMLParser):
    """Reads the form with an id, the first one where the id is empty."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id = form_id
        self.is_inside = False
        self.action: str | None = None
        self.fields: dict[str, str] = {}
        self.names: set[str] = set()
        self._open = ""
        """The name of the select or textarea that the reader is in."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            wanted = found.get("id") == self.form_id if self.form_id else self.action is None
            self.is_inside = wanted
            self.action = found["action"] if wanted else self.action
        if tag == "option" and self._open and "selected" in found:
            self.fields[self._open] = found["value"]
        name = found.get("name")
        if not self.is_inside or name is None:
            return
        self.names.add(name)
        if tag in {"select", "textarea"}:
            self._open, self.fields[name] = name, ""
        is_choice = found.get("type") in {"checkbox", "radio"}
        if tag == "input" and (not is_choice or "checked" in dict(attrs)):
            self.fields[name] = found.get("value", "")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "textarea" and self._open:
            self.fields[self._open] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"select", "textarea"}:
            self._open = ""


@dataclass(frozen=True)
class Page:
    """What the browser got."""

    response: httpx2.Response

    @property
    def status(self) -> int:
        return self.response.status_code

    @cached_property
    def html(self) -> str:
        return self.response.text

    @property
    def id(self) -> str:
        """Which page it is, by the name of its template."""
        found = re.search(r'data-page-id="(?:login-)?([^"]*)"', self.html)
        return found.group(1) if found else ""

    @property
    def text(self) -> str:
        """What a person reads."""
        body = self.html.partition("<body")[2].partition(">")[2]
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())

    @property
    def message(self) -> str | None:
        """The message about the last step."""
        found = re.search(r'class="kc-feedback-text">([^<]*)<', self.html)
        return unescape(found.group(1)) if found else None

    @cached_property
    def form(self) -> Form:
        """The first form of the page."""
        return self.form_with_id("")

    def form_with_id(self, form_id: str) -> Form:
        """Return the form with an id."""
        reader = _FormReader(form_id)
        reader.feed(self.html)
        assert reader.action is not None, f"{self.status} {self.text}"
        return Form(reader.action, reader.fields, frozenset(reader.names))

    def link(self, name: str) -> str:
        """Return the target of the link with an id."""
        found = re.search(rf'<a id="{name}"[^>]*href="([^"]*)"', self.html)
        assert found is not None, self.html
        return unescape(found.group(1))

    @property
    def location(self) -> str:
        """Where the browser is sent to."""
        assert self.status == httpx2.codes.FOUND, f"{self.status} {self.text}"
        return str(self.response.headers["location"])

    @property
    def answer(self) -> dict[str, str]:
        """The parameters of the response to the client, in the query or the fragment."""
        parts = urlsplit(self.location)
        assert self.location.startswith(CALLBACK), self.location
        return dict(parse_qsl(parts.fragment or parts.query, keep_blank_values=True))

    @property
    def set_cookies(self) -> dict[str, str]:
        """The headers that set cookies, by name."""
        headers = self.response.headers.get_list("set-cookie")
        return {header.partition("=")[0]: header for header in headers}


@dataclass
class SignInBrowser:
    """One browser in one realm. `cookies` are those that it sends."""

    http: httpx2.Client
    realm: str
    cookies: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    session: str = ""
    """That of who is signed in, where a fixture has signed one in."""
    public_url: str = PUBLIC_URL

    def get(self, url: str) -> Page:
        return self._ask("GET", url)

    def post(self, url: str, fields: Mapping[str, str]) -> Page:
        return self._ask("POST", url, data=dict(fields))

    def open(self, client_id: str = "app", **parameters: str | None) -> Page:
        """Send an authorization request; None leaves a parameter out."""
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": CALLBACK,
            "scope": "openid",
            "state": "a-state",
            **parameters,
        }
        sent = {name: value for name, value in asked.items() if value is not None}
        url = httpx2.URL(self.protocol("auth"), params=sent)
        return self.get(str(url))

    def submit(self, page: Page, **fields: str) -> Page:
        """Fill in the form of a page and send it."""
        return self.post(page.form.action, {**page.form.fields, **fields})

    def sign_in(
        self, username: str = "anna", client_id: str = "app", **parameters: str | None
    ) -> Page:
        """Open the page of a sign-in and send the right password."""
        return self.submit(self.open(client_id, **parameters), username=username, password=PASSWORD)

    def redeem(self, code: str, client_id: str = "app") -> httpx2.Response:
        """Exchange a code for tokens, as the client."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": CALLBACK,
            "client_id": client_id,
            "client_secret": SECRET,
        }
        return self.http.post(self.protocol("token"), data=form)

    def protocol(self, path: str) -> str:
        return f"/realms/{self.realm}/protocol/openid-connect/{path}"

    def _ask(self, method: str, url: str, **sent: Any) -> Page:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {**self.headers, **({"Cookie": cookie} if cookie else {})}
        path = url.removeprefix(self.public_url)
        assert path.startswith("/"), f"not an address of the gateway: {url}"
        response = self.http.request(method, path, headers=headers, follow_redirects=False, **sent)
        self.http.cookies.clear()
        page = Page(response)
        for name, header in page.set_cookies.items():
            value = header.partition("=")[2].partition(";")[0]
            if "Max-Age=0" in header:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return page


@dataclass(frozen=True, slots=True)
class SignInRealm:
    """A realm that browsers sign in to, and what it has recorded."""

    realm: AdministeredRealm

    def browser(self, **headers: str) -> SignInBrowser:
        """Return a browser that has never been here."""
        http = self.realm.administration.http
        return SignInBrowser(http, self.realm.name, headers=dict(headers))

    def events(self) -> list[dict[str, Any]]:
        """Return what was recorded since the last call, oldest first."""
        found: list[dict[str, Any]] = self.realm.get("events?direction=asc&max=1000")
        self.realm.change("DELETE", "events")
        return found

    def user_id(self, username: str) -> str:
        """Return the id of a user."""
        return str(self.realm.get(f"users?username={username}&exact=true")[0]["id"])

    @contextmanager
    def changed(self, **settings: Any) -> Iterator[None]:
        """Change settings of the realm for a while."""
        before = self.realm.get("")
        self.realm.change("PUT", "", settings)
        try:
            yield
        finally:
            self.realm.change("PUT", "", {name: before.get(name) for name in settings})


def query_of(url: str) -> dict[str, str]:
    """Return the parameters of a URL."""
    found = parse_qs(urlsplit(url).query, keep_blank_values=True)
    return {name: values[0] for name, values in found.items()}


def with_query(url: str, **changes: str | None) -> str:
    """Return the URL with other parameters; None removes one."""
    merged = {**query_of(url), **changes}
    kept = {name: value for name, value in merged.items() if value is not None}
    return str(httpx2.URL(url.partition("?")[0], params=kept))
