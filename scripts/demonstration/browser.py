"""A client that acts as a browser: it keeps cookies, follows redirects and fills in forms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin, urlsplit

from scripts.demonstration.https import HttpsClient, Response

MOST_REDIRECTS = 10
_NAVIGATION = {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Mode": "navigate"}


class _PageReader(HTMLParser):
    """Reads the first form of a page, and its list of definitions."""

    def __init__(self) -> None:
        super().__init__()
        self.action: str | None = None
        self.method = "get"
        self.fields: dict[str, str] = {}
        self.definitions: dict[str, str] = {}
        self._is_inside = False
        self._element = ""
        self._term = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self._element = tag
        if tag == "form":
            self._is_inside = self.action is None
            if self._is_inside:
                self.action, self.method = found.get("action", ""), found.get("method", "get")
        if tag == "input" and self._is_inside and "name" in found:
            self.fields[found["name"]] = found.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        self._element = ""
        self._is_inside = self._is_inside and tag != "form"

    def handle_data(self, data: str) -> None:
        if self._element == "dt":
            self._term = data
        if self._element == "dd":
            self.definitions[self._term] = data


@dataclass(frozen=True, slots=True)
class Page:
    """What the user sees: the last response, and where it came from."""

    url: str
    status: int
    action: str
    """Where the form is sent to; the URL of the page where it has none."""
    method: str
    fields: Mapping[str, str]
    """What the form sends if the user enters nothing."""
    definitions: Mapping[str, str]
    """The terms that the page lists (`dt`), each with its description (`dd`)."""

    @classmethod
    def of(cls, url: str, response: Response) -> "Page":
        """Read the page that came from a URL."""
        reader = _PageReader()
        if response.header("content-type").startswith("text/html"):
            reader.feed(response.content.decode(errors="replace"))
        action = urljoin(url, reader.action or "")
        return cls(url, response.status, action, reader.method, reader.fields, reader.definitions)


@dataclass
class Browser:
    """One browser. `headers` go with every request, `cookies` are kept by host."""

    client: HttpsClient
    headers: dict[str, str] = field(default_factory=lambda: dict(_NAVIGATION))
    cookies: dict[str, dict[str, str]] = field(default_factory=dict)

    def visit(self, url: str) -> Page:
        """Open a page and follow redirects; raises OSError, HTTPException, ValueError."""
        return self._follow("GET", url, None)

    def submit(self, page: Page, **entered: str) -> Page:
        """Send the form of a page and follow redirects; raises as `visit`."""
        sent = urlencode({**page.fields, **entered})
        if page.method.lower() == "post":
            return self._follow("POST", page.action, sent)
        return self._follow("GET", f"{page.action.partition('?')[0]}?{sent}", None)

    def _follow(self, method: str, url: str, form: str | None) -> Page:
        for _ in range(MOST_REDIRECTS):
            response = self._request(method, url, form)
            location = response.header("location")
            if not location:
                return Page.of(url, response)
            method, url, form = "GET", urljoin(url, location), None
        raise ValueError(f"more than {MOST_REDIRECTS} redirects, the last one to {url}")

    def _request(self, method: str, url: str, form: str | None) -> Response:
        parts = urlsplit(url)
        kept = self.cookies.setdefault(parts.hostname or "", {})
        headers = dict(self.headers)
        if kept:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in kept.items())
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["Origin"] = f"{parts.scheme}://{parts.netloc}"
        response = self.client.request(method, url, headers=headers, body=form)
        for name, value in response.headers:
            if name == "set-cookie":
                _keep(kept, value)
        return response


def _keep(cookies: dict[str, str], header: str) -> None:
    pair, *attributes = header.split("; ")
    name, _, value = pair.partition("=")
    if "max-age=0" in map(str.lower, attributes):
        cookies.pop(name, None)
    else:
        cookies[name] = value
