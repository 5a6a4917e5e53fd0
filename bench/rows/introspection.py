"""Introspection of a certificate-bound token, and the JWKS over HTTP/2."""

import json
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_least
from bench.load import (
    Load,
    Requests,
    drive,
    h2load,
    lending_nginx,
    middle,
    one_request,
    token_requests,
)
from bench.processes import BenchError
from bench.stack import CLIENT, ES256_REALM, REALM, stack

TITLE = "Introspection and JWKS, nginx and one worker on one core"
HOW = (
    "A device asks about its own certificate-bound token, which checks signature, client, service"
    " account, revocation in the database, audience and binding. RS256 and ES256 tokens in"
    " alternating rounds. The JWKS is read by h2load over HTTP/2 without a certificate."
)


def measure(bench: Bench) -> Result:
    """Measure introspection of both kinds of tokens, and the JWKS."""
    plan = bench.plan
    loads: dict[str, list[Load]] = {REALM: [], ES256_REALM: []}
    jwks: list[float] = []
    with (
        stack(bench.site) as target,
        lending_nginx({"a": target.mtls_port}, bench.site.certificates) as ports,
    ):
        port = ports["a"]
        requests = {realm: introspection_requests(port, realm) for realm in loads}
        for realm in loads:
            drive(target, port, requests[realm], plan.warm_seconds)
        for _ in range(plan.rounds):
            for realm, seen in loads.items():
                seen.append(drive(target, port, requests[realm], plan.seconds))
            path = f"/realms/{REALM}/protocol/openid-connect/certs"
            jwks.append(h2load(target.https_port, path))
    rs256, es256 = middle(loads[REALM]), middle(loads[ES256_REALM])
    figures = (
        Figure("introspections, RS256 token", rs256.rate, "/s", at_least(2000, 4000)),
        Figure("introspections, ES256 token", es256.rate, "/s"),
        Figure("processor time of one (RS256), gateway", rs256.gateway * 1e6, "us"),
        Figure("JWKS over HTTP/2", median(jwks), "/s"),
    )
    return Result(figures, HOW)


def introspection_requests(port: int, realm: str) -> Requests:
    """Return the introspection of a new token by the device that it is bound to."""
    token = json.loads(one_request(port, token_requests(realm)))["access_token"]
    path = f"/realms/{realm}/protocol/openid-connect/token/introspect"
    requests = Requests(path, f"client_id={CLIENT}&token={token}")
    if not json.loads(one_request(port, requests))["active"]:
        raise BenchError(f"the token of {realm} is not active")
    return requests
