"""Users who look at their own accounts, over the account API."""

from bench.context import Bench
from bench.figures import Figure, Result, at_least
from bench.load import Load, Requests, drive, lending_nginx, middle
from bench.people import BROWSING_PEOPLE, sign_in
from bench.stack import stack

TITLE = "The account API, nginx and one worker on one core"
HOW = (
    "A user with ten live sessions in a guarded realm asks for the own profile with its metadata,"
    " for the sessions, the credentials and the applications, with one access token, in alternating"
    " rounds. Each request checks the token, its session, its revocation and the lock-out."
)
_PATHS = {
    "profiles": "",
    "lists of sessions": "/sessions",
    "lists of credentials": "/credentials",
    "lists of applications": "/applications",
}
_SESSIONS = 10
_GATE = at_least(200, 400)


def measure(bench: Bench) -> Result:
    """Measure each list in alternating rounds."""
    plan = bench.plan
    loads: dict[str, list[Load]] = {name: [] for name in _PATHS}
    with (
        stack(bench.people_site) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
    ):
        port = ports["a"]
        signed_in = sign_in(port, BROWSING_PEOPLE, [1] * _SESSIONS)
        token = signed_in[-1]["access_token"]
        requests = {name: _requests(path, token) for name, path in _PATHS.items()}
        for name in _PATHS:
            drive(target, port, requests[name], plan.warm_seconds)
        for _ in range(plan.rounds):
            for name, seen in loads.items():
                seen.append(drive(target, port, requests[name], plan.seconds))
    figures = (Figure(name, middle(seen).rate, "/s", _GATE) for name, seen in loads.items())
    return Result(tuple(figures), HOW)


def _requests(path: str, token: str) -> Requests:
    url = f"/realms/{BROWSING_PEOPLE}/account{path}"
    return Requests(url, "", method="GET", content_type="application/json", token=token)
