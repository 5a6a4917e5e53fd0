"""Sign-ins of browsers through nginx: by the form, by cookie, and the exchange of codes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from bench.browser_client import Browsers, Steps, browse
from bench.context import Bench
from bench.figures import Figure, Result, at_least
from bench.load import lending_nginx, token_requests
from bench.open_loop import Latency, poisson
from bench.people import BROWSING_PEOPLE, PEOPLE, ROUNDS
from bench.processes import BOTH_CORES
from bench.signing import Limit, signing_limit
from bench.stack import Stack, Start, stack

TITLE = "Sign-ins of browsers, nginx and one worker on one core"
HOW = (
    "Eight browsers, each with a connection of its own, ask for one page after the other, through"
    " nginx and without a client certificate. A sign-in is the page, its form, the code and the"
    f" tokens, by a new browser each time; its password is hashed {ROUNDS[PEOPLE]:,} times, or once"
    " (`without hash`). A single sign-on is `prompt=none` with the cookie of a sign-in, the code"
    " and the tokens; `codes by cookie` is the first half of it. An exchange redeems a code that"
    " was collected before. The tokens are an access token and an ID token, both RS256, and a"
    " refresh token, so an exchange takes two signatures."
    " The rates of single sign-ons and exchanges are also shown as shares of what their two"
    " signatures alone would allow."
    " Latency of client_credentials: 50 a second, while 200 sign-ins arrive a second, both Poisson,"
    " and the servers have both cores, as in the row `crowd`; with hash most sign-ins are shed"
    " (503), and who comes while 200 browsers wait leaves again."
    " Processor time is that of gateway, private redis-server and nginx."
)
_LONG = 60.0
"""Seconds: as long as the exchange of all codes may take."""
_SIGN_ONS, _MANY_SIGN_ONS = 500, 700
_SIGN_INS = 200
_TOKENS = 50
"""Arrivals a second."""
_SIGNATURES = 2
_KINDS = {
    "sign-ins with hash": (PEOPLE, Steps.SIGN_IN),
    "sign-ins without hash": (BROWSING_PEOPLE, Steps.SIGN_IN),
    "single sign-on": (BROWSING_PEOPLE, Steps.SINGLE_SIGN_ON),
    "codes by cookie": (BROWSING_PEOPLE, Steps.CODES),
}


@dataclass(frozen=True, slots=True)
class _Run:
    """What browsers did, and what it cost, in seconds each."""

    browsers: Browsers
    gateway: float
    nginx: float

    @property
    def rate(self) -> float:
        return self.browsers.done / self.browsers.seconds


def measure(bench: Bench) -> Result:
    """Measure signatures and each kind in alternating rounds, then latency beside sign-ins."""
    plan, limits = bench.plan, list[Limit]()
    runs: dict[str, list[_Run]] = {}
    with (
        stack(bench.people_site) as target,
        lending_nginx({"https": target.https_port}, None) as ports,
    ):
        port = ports["https"]
        warm = _run(target, port, "sign-ins without hash", plan.warm_seconds)
        cookies = warm.browsers.found
        for _ in range(plan.rounds):
            limits.append(signing_limit("RS256", plan.seconds))
            for kind in _KINDS:
                run = _run(target, port, kind, plan.seconds, cookies)
                runs.setdefault(kind, []).append(run)
            runs.setdefault("exchanges", []).append(_exchanges(target, port, plan.seconds, cookies))
    return Result((*_figures(runs, limits), *_beside(bench)), HOW)


def _run(target: Stack, port: int, kind: str, seconds: float, cookies: Sequence[str] = ()) -> _Run:
    realm, steps = _KINDS[kind]
    given = () if steps is Steps.SIGN_IN else cookies
    return _costs(target, port, realm, steps, seconds, given)


def _costs(  # noqa: PLR0917 - what `browse` takes
    target: Stack, port: int, realm: str, steps: Steps, seconds: float, given: Sequence[str]
) -> _Run:
    gateway, nginx = target.gateway_seconds(), target.nginx_seconds()
    seen = browse(port, realm, steps, seconds, given)
    return _Run(
        seen,
        (target.gateway_seconds() - gateway) / seen.done,
        (target.nginx_seconds() - nginx) / seen.done,
    )


def _exchanges(target: Stack, port: int, seconds: float, cookies: Sequence[str]) -> _Run:
    """Collect codes; exchange all of them."""
    codes = browse(port, BROWSING_PEOPLE, Steps.CODES, seconds, cookies).found
    return _costs(target, port, BROWSING_PEOPLE, Steps.EXCHANGE, _LONG, codes)


def _beside(bench: Bench) -> list[Figure]:
    """Measure tokens of a device alone, and while people sign in."""
    seconds = bench.plan.open_loop_seconds
    with (
        stack(bench.people_site, Start(cores=BOTH_CORES)) as target,
        lending_nginx({"a": target.https_port}, None) as people,
        lending_nginx({"a": target.mtls_port}, bench.site.certificates) as devices,
    ):
        device = devices["a"]
        browse(people["a"], BROWSING_PEOPLE, Steps.SIGN_IN, bench.plan.warm_seconds)
        alone = poisson(device, token_requests(), _TOKENS, seconds)
        figures = [Figure("client_credentials alone: p99", alone.p99 * 1e3, "ms")]
        for kind in ("sign-ins with hash", "sign-ins without hash"):
            realm, steps = _KINDS[kind]
            with ThreadPoolExecutor(1) as threads:
                going = threads.submit(browse, people["a"], realm, steps, seconds, rate=_SIGN_INS)
                seen = poisson(device, token_requests(), _TOKENS, seconds)
                figures += _side_by_side(f"client_credentials beside {kind}", seen, going.result())
    return figures


def _side_by_side(name: str, seen: Latency, people: Browsers) -> tuple[Figure, ...]:
    return (
        Figure(f"{name}: p50", seen.p50 * 1e3, "ms"),
        Figure(f"{name}: p99", seen.p99 * 1e3, "ms"),
        Figure(f"{name}: failed", seen.failed),
        Figure(f"{name}: sign-ins done", people.done / people.seconds, "/s"),
        Figure(f"{name}: sign-ins shed", people.shed / people.seconds, "/s"),
        Figure(f"{name}: browsers that left", people.left / people.seconds, "/s"),
        Figure(f"{name}: sign-in p99", people.p99 * 1e3, "ms"),
    )


def _figures(runs: dict[str, list[_Run]], limits: list[Limit]) -> list[Figure]:
    figures: list[Figure] = []
    for kind, seen in runs.items():
        gate = at_least(_SIGN_ONS, _MANY_SIGN_ONS) if kind == "single sign-on" else None
        figures += (
            Figure(kind, median(run.rate for run in seen), "/s", gate),
            Figure(f"{kind}: p50", median(run.browsers.p50 for run in seen) * 1e3, "ms"),
            Figure(
                f"{kind}: processor time, gateway and redis",
                median(run.gateway for run in seen) * 1e6,
                "us",
            ),
            Figure(f"{kind}: processor time, nginx", median(run.nginx for run in seen) * 1e6, "us"),
        )
    ratio = _of_limit(runs["exchanges"], limits)
    figures.append(Figure("exchanges / RSA-2048 signatures", ratio, gate=at_least(0.35, 0.45)))
    for kind in ("exchanges", "single sign-on"):
        ratio = _SIGNATURES * _of_limit(runs[kind], limits)
        figures.append(Figure(f"signatures of {kind} / RSA-2048 signatures", ratio))
        share = median(
            _SIGNATURES * limit.seconds / (run.gateway + run.nginx)
            for run, limit in zip(runs[kind], limits, strict=True)
        )
        figures.append(Figure(f"{kind}: the signatures' share of the processor time", share))
    return figures


def _of_limit(seen: list[_Run], limits: list[Limit]) -> float:
    """Return the rate as a share of the rate of signatures."""
    return median(run.rate / limit.rate for run, limit in zip(seen, limits, strict=True))
