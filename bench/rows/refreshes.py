"""Refreshes and userinfo of signed-in people, on one core."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from bench.context import Bench
from bench.figures import Figure, Result, at_least
from bench.load import Load, Requests, drive, lending_nginx, middle
from bench.people import APP, PEOPLE, ROTATING_PEOPLE, sign_in, token_path
from bench.processes import BenchError
from bench.refresh_chains import follow_chains
from bench.signing import Limit, signing_limit
from bench.stack import Stack, stack

TITLE = "Refreshes and userinfo, nginx and one worker on one core"
HOW = (
    "64 sessions of as many users are begun beforehand. Where refresh tokens may be used again wrk"
    " sends those of all sessions in turn, and their access tokens to userinfo; where each is"
    " retired by its use (`rotating`) 16 chains each wait for the answer that holds the next one,"
    " which SQLite has flushed to disk before. In alternating rounds with raw RSA-2048 signatures;"
    " the answers are RS256, without a client certificate."
)
_SESSIONS = 64
_CHAINS = 16


def measure(bench: Bench) -> Result:
    """Measure signatures, refreshes of both kinds and userinfo in alternating rounds."""
    plan = bench.plan
    limits: list[Limit] = []
    loads: dict[str, list[Load]] = {"refresh": [], "userinfo": []}
    rotating: list[Load] = []
    with (
        stack(bench.people_site) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
    ):
        port = ports["a"]
        requests = requests_of_people(port, bench.workspace.folder)
        chains = [
            answer["refresh_token"]
            for answer in sign_in(port, ROTATING_PEOPLE, range(1, _CHAINS + 1))
        ]
        for kind in loads:
            drive(target, port, requests[kind], plan.warm_seconds)
        for _ in range(plan.rounds):
            limits.append(signing_limit("RS256", plan.seconds))
            for kind, seen in loads.items():
                seen.append(drive(target, port, requests[kind], plan.seconds))
            load, chains = _rotated(target, port, chains, plan.seconds)
            rotating.append(load)
    figures = (
        *_figures("refreshes", limits, loads["refresh"], gated=True),
        *_figures("rotating refreshes", limits, rotating),
        *_userinfo(loads["userinfo"]),
    )
    return Result(figures, HOW)


def requests_of_people(port: int, folder: Path) -> dict[str, Requests]:
    """Begin sessions; return `refresh`, which refreshes them, and `userinfo` about their users."""
    answers = sign_in(port, PEOPLE, range(1, _SESSIONS + 1))
    asking = sign_in(port, PEOPLE, range(1, _SESSIONS + 1), scope="openid")
    if _algorithm(answers[0]["access_token"]) != "RS256":
        raise BenchError("the tokens of the people are not RS256")
    refreshes = [_refresh_form(answer["refresh_token"]) for answer in answers]
    questions = [urlencode({"access_token": answer["access_token"]}) for answer in asking]
    return {
        "refresh": _lines(folder / "refreshes", token_path(PEOPLE), refreshes),
        "userinfo": _lines(
            folder / "userinfo", f"/realms/{PEOPLE}/protocol/openid-connect/userinfo", questions
        ),
    }


def _refresh_form(token: str) -> str:
    return urlencode({"grant_type": "refresh_token", "client_id": APP, "refresh_token": token})


def _lines(file: Path, path: str, bodies: Sequence[str]) -> Requests:
    file.write_text("\n".join(bodies))
    return Requests(path, f"@{file}")


def _algorithm(token: str) -> str:
    head = token.partition(".")[0]
    return str(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["alg"])


def _rotated(target: Stack, port: int, tokens: list[str], seconds: int) -> tuple[Load, list[str]]:
    gateway, nginx = target.gateway_seconds(), target.nginx_seconds()
    seen = follow_chains(port, token_path(ROTATING_PEOPLE), APP, tokens, seconds)
    load = Load(
        rate=seen.refreshes / seen.seconds,
        requests=seen.refreshes,
        p50=seen.p50,
        p99=seen.p99,
        gateway=(target.gateway_seconds() - gateway) / seen.refreshes,
        nginx=(target.nginx_seconds() - nginx) / seen.refreshes,
    )
    return load, seen.tokens


def _figures(
    name: str, limits: list[Limit], loads: list[Load], *, gated: bool = False
) -> tuple[Figure, ...]:
    own = middle(loads)
    pairs = list(zip(loads, limits, strict=True))
    gate = at_least(0.35, 0.45) if gated else None
    ratio = median(load.rate / limit.rate for load, limit in pairs)
    share = median(limit.seconds / (load.gateway + load.nginx) for load, limit in pairs)
    return (
        Figure(name, own.rate, "/s"),
        Figure(f"{name} / RSA-2048 signatures", ratio, gate=gate),
        Figure(f"{name}: processor time, gateway and redis", own.gateway * 1e6, "us"),
        Figure(f"{name}: processor time, nginx", own.nginx * 1e6, "us"),
        Figure(f"{name}: the signature's share of the processor time", share),
    )


def _userinfo(loads: list[Load]) -> tuple[Figure, ...]:
    own = middle(loads)
    return (
        Figure("userinfo", own.rate, "/s", at_least(2000, 4000)),
        Figure("userinfo: processor time, gateway and redis", own.gateway * 1e6, "us"),
        Figure("userinfo: processor time, nginx", own.nginx * 1e6, "us"),
    )
