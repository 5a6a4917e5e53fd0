"""Latency of tokens while people sign in: hashing must not hold up who needs none of it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Requests, drive, lending_nginx, token_requests
from bench.open_loop import Latency, poisson
from bench.people import COSTLY_PEOPLE, login_requests
from bench.processes import BOTH_CORES, BenchError
from bench.stack import Start, stack

TITLE = "Latency of RS256 tokens while people sign in, one worker on two cores"
HOW = (
    "Poisson arrivals of client_credentials by mTLS, alone and beside logins at 210,000 rounds of"
    " PBKDF2-SHA256 that arrive at random too, in alternating rounds. The worker and nginx may use"
    " both cores, the load uses the second as well: there is no third one. Tokens arrive at 500/s,"
    " or at half of the closed loop's rate just before where that is less. 200 logins a second are"
    " several times what two cores can hash: the excess is to be told to come again (503, or 429 of"
    " nginx, with Retry-After: shed), and no token is to be among it; any other refusal fails the"
    " measurement."
)
_TOKENS = 500.0
_HALF = 0.5
_FEW, _MANY = 4.0, 200.0
_MILLI = 1e3


@dataclass(frozen=True, slots=True)
class _Place:
    """The two ways in: for tokens with a certificate, for people without."""

    tokens: int
    people: int
    rate: float
    seconds: float

    def alone(self) -> Latency:
        """Let tokens arrive alone."""
        seen = poisson(self.tokens, token_requests(), self.rate, self.seconds)
        if seen.failed:
            raise BenchError(f"tokens were refused: {seen}")
        return seen

    def beside(self, logins: float) -> tuple[Latency, Latency]:
        """Let tokens and logins arrive together."""
        with ThreadPoolExecutor(2) as both:
            tokens = both.submit(self.alone)
            people = both.submit(poisson, self.people, _LOGINS, logins, self.seconds)
            return tokens.result(), people.result()


_LOGINS: Requests = login_requests(COSTLY_PEOPLE, 0)


def measure(bench: Bench) -> Result:
    """Measure tokens alone, beside few logins, and beside more than can be hashed."""
    plan = bench.plan
    alone: list[Latency] = []
    few: list[tuple[Latency, Latency]] = []
    with (
        stack(bench.people_site, Start(cores=BOTH_CORES)) as target,
        lending_nginx({"a": target.mtls_port}, bench.site.certificates) as devices,
        lending_nginx({"a": target.https_port}, None) as people,
    ):
        full = drive(target, devices["a"], token_requests(), plan.warm_seconds + plan.seconds)
        rate = min(_TOKENS, full.rate * _HALF)
        place = _Place(devices["a"], people["a"], rate, plan.open_loop_seconds / 2)
        for _ in range(max(2, plan.rounds // 2)):
            alone.append(place.alone())
            few.append(place.beside(_FEW))
        many = place.beside(_MANY)
    return Result((*_few_figures(rate, alone, few), *_many_figures(many)), HOW)


def _few_figures(
    rate: float, alone: list[Latency], few: list[tuple[Latency, Latency]]
) -> tuple[Figure, ...]:
    if any(seen.failed or seen.shed for seen in (*alone, *chain.from_iterable(few))):
        raise BenchError(f"somebody was refused: {alone} {few}")
    ratio = median(beside.p99 / one.p99 for one, (beside, _) in zip(alone, few, strict=True))
    return (
        Figure("tokens arriving", rate, "/s"),
        Figure("alone: p99", median(one.p99 for one in alone) * _MILLI, "ms"),
        Figure("beside 4 logins/s: p50", median(one.p50 for one, _ in few) * _MILLI, "ms"),
        Figure("beside 4 logins/s: p99", median(one.p99 for one, _ in few) * _MILLI, "ms"),
        Figure("p99 beside 4 logins/s / alone", ratio, gate=at_most(3, 2)),
        Figure("a login's p50", median(one.p50 for _, one in few) * _MILLI, "ms"),
    )


def _many_figures(many: tuple[Latency, Latency]) -> tuple[Figure, ...]:
    tokens, people = many
    if people.failed:
        raise BenchError(f"logins were refused and not told to come again: {people}")
    shed = people.shed / (people.shed + people.requests)
    return (
        Figure("beside 200 logins/s: p50", tokens.p50 * _MILLI, "ms"),
        Figure("beside 200 logins/s: p99", tokens.p99 * _MILLI, "ms", at_most(50, 25)),
        Figure("beside 200 logins/s: tokens told to come again", tokens.shed, "", at_most(0, 0)),
        Figure("beside 200 logins/s: generator late, p99", tokens.late * _MILLI, "ms"),
        Figure("share of these logins told to come again", shed),
        Figure("a login's p99, where it was let in", people.p99 * _MILLI, "ms"),
    )
