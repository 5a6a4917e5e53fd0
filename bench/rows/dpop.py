"""Tokens that are bound to a DPoP key, against tokens that are bound to a certificate."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Load, Requests, drive, lending_nginx, middle, one_request
from bench.proofs import Prover
from bench.stack import CLIENT, PROVING_CLIENT, PUBLIC_URL, REALM, stack

TITLE = "DPoP against certificate-bound tokens, nginx and one worker on one core"
HOW = (
    "The same client authentication by certificate asks for tokens and for userinfo, in alternating"
    " rounds: with tokens bound to the certificate, and with tokens bound to an ES256 key, where"
    " each request has a proof of its own. Each proof is verified, and marked as used in Redis."
)
_PROTOCOL = f"/realms/{REALM}/protocol/openid-connect"
_FORM = "grant_type=client_credentials&scope=openid&client_id={client}"
_SPARE = 1.5
"""Proofs that are prepared for each request that a run is expected to send."""
_MICRO = 1e6


def measure(bench: Bench) -> Result:
    """Measure token and userinfo requests of both kinds in alternating rounds."""
    plan = bench.plan
    prover = Prover()
    with (
        stack(bench.site) as target,
        lending_nginx({"a": target.mtls_port}, bench.site.certificates) as ports,
        TemporaryDirectory(prefix="realmgate-proofs-") as folder,
    ):
        port, proofs = ports["a"], Path(folder) / "proofs"
        bound, proved = _requests(port, prover)
        loads: dict[str, list[Load]] = {f"{kind} {name}": [] for name in bound for kind in _KINDS}
        expected: dict[str, float] = {}
        for name, requests in bound.items():
            expected[name] = drive(target, port, requests, plan.warm_seconds).rate
        for _ in range(plan.rounds):
            for name, requests in bound.items():
                count = int(expected[name] * plan.seconds * _SPARE)
                loads[f"bound {name}"].append(drive(target, port, requests, plan.seconds))
                fresh = proved[name](proofs, count)
                loads[f"proved {name}"].append(drive(target, port, fresh, plan.seconds))
    return Result(tuple(_figures({name: middle(seen) for name, seen in loads.items()})), HOW)


_KINDS = ("bound", "proved")


def _requests(
    port: int, prover: Prover
) -> tuple[dict[str, Requests], dict[str, Callable[[Path, int], Requests]]]:
    """Return the requests with certificate-bound tokens, and what makes those with proofs."""
    path = f"{_PROTOCOL}/token"
    token_url, userinfo_url = f"{PUBLIC_URL}{path}", f"{PUBLIC_URL}{_PROTOCOL}/userinfo"
    asks = {
        client: Requests(path, _FORM.format(client=client)) for client in (CLIENT, PROVING_CLIENT)
    }
    userinfo = Requests(f"{_PROTOCOL}/userinfo", "", method="GET")
    first = replace(asks[PROVING_CLIENT], proof=prover.proof("POST", token_url))
    own = str(json.loads(one_request(port, first))["access_token"])
    certified = str(json.loads(one_request(port, asks[CLIENT]))["access_token"])

    def token_requests(file: Path, count: int) -> Requests:
        proofs = prover.write(file, count, "POST", token_url)
        return replace(asks[PROVING_CLIENT], proof=proofs)

    def userinfo_requests(file: Path, count: int) -> Requests:
        proofs = prover.write(file, count, "GET", userinfo_url, own)
        return replace(userinfo, token=own, proof=proofs)

    bound = {"token": asks[CLIENT], "userinfo": replace(userinfo, token=certified)}
    return bound, {"token": token_requests, "userinfo": userinfo_requests}


def _figures(loads: dict[str, Load]) -> list[Figure]:
    found = []
    for name in ("token", "userinfo"):
        bound, proved = loads[f"bound {name}"], loads[f"proved {name}"]
        found += [
            Figure(f"{name}: bound to a certificate, gateway", bound.gateway * _MICRO, "us"),
            Figure(f"{name}: bound to a DPoP key, gateway", proved.gateway * _MICRO, "us"),
            Figure(
                f"{name}: cost with DPoP, gateway and nginx",
                (proved.gateway + proved.nginx) / (bound.gateway + bound.nginx),
                "x",
                at_most(1.4, 1.2),
            ),
        ]
    return found
