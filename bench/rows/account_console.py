"""Users who look at the pages of their account console."""

from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

from bench.browser_client import Steps, browse
from bench.context import Bench
from bench.figures import Figure, Result, at_least
from bench.load import Load, Requests, drive, lending_nginx, middle
from bench.people import BROWSING_PEOPLE
from bench.processes import BenchError
from bench.stack import stack

TITLE = "Pages of the account console, nginx and one worker on one core"
HOW = (
    "A browser that signed in to the console asks for one page again and again over 32 connections,"
    " in alternating rounds. Each response is a whole page of a user with a password, the session"
    " of the browser and the applications of a new realm. Processor time is that of gateway,"
    " private redis-server and nginx, and beside it what a core alone could serve by it."
)
_PAGES = {
    "Personal info": "/",
    "Signing in": "/account-security/signing-in",
    "Devices": "/account-security/device-activity",
    "Applications": "/applications",
}
_GATE = at_least(200, 400)
_MOST_REDIRECTS = 10


def measure(bench: Bench) -> Result:
    """Measure each page in alternating rounds."""
    plan = bench.plan
    loads: dict[str, list[Load]] = {name: [] for name in _PAGES}
    with (
        stack(bench.people_site) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
    ):
        port = ports["a"]
        cookies = _sign_in(port)
        requests = {name: _requests(path, cookies) for name, path in _PAGES.items()}
        for one in requests.values():
            _require_page(port, one)
            drive(target, port, one, plan.warm_seconds)
        for _ in range(plan.rounds):
            for name, seen in loads.items():
                seen.append(drive(target, port, requests[name], plan.seconds))
        for one in requests.values():
            _require_page(port, one)
    return Result(tuple(_figures(loads)), HOW)


def _figures(loads: dict[str, list[Load]]) -> Iterator[Figure]:
    for name, seen in loads.items():
        load = middle(seen)
        cost = load.gateway + load.nginx
        yield Figure(name, load.rate, "/s", _GATE)
        yield Figure(f"{name}: processor time", cost * 1e6, "us")
        yield Figure(f"{name}: a core by processor time", 1 / cost, "/s", _GATE)


def _requests(path: str, cookies: str) -> Requests:
    url = f"/realms/{BROWSING_PEOPLE}/account{path}"
    return Requests(url, "", method="GET", content_type="text/html", cookies=cookies)


def _sign_in(port: int) -> str:
    """Return the cookies of a browser that takes part in a session of the console."""
    found = browse(port, BROWSING_PEOPLE, Steps.SIGN_IN, 1).found
    jar = dict(each.partition("=")[::2] for each in found[0].split("; "))
    path = f"/realms/{BROWSING_PEOPLE}/account"
    for _ in range(_MOST_REDIRECTS):
        answer = _get(port, path, jar)
        received = SimpleCookie()
        for each in answer.headers.get_all("set-cookie", ()):
            received.load(each)
        jar |= {name: morsel.value for name, morsel in received.items()}
        if answer.status == HTTPStatus.OK:
            return _joined(jar)
        target = urlsplit(answer.headers.get("location", ""))
        path = f"{target.path}?{target.query}"
    raise BenchError("the console admits no user")


def _require_page(port: int, requests: Requests) -> None:
    """See that it is a page, and no redirect to a sign-in: wrk takes either for a response."""
    jar = {"": requests.cookies or ""}
    answer = _get(port, requests.path, jar)
    if answer.status != HTTPStatus.OK:
        raise BenchError(f"{requests.path}: {answer.status}")


def _get(port: int, path: str, jar: dict[str, str]) -> HTTPResponse:
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", path, headers={"Cookie": _joined(jar)})
        answer = connection.getresponse()
        answer.read()
        return answer


def _joined(jar: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" if name else value for name, value in jar.items() if value)
