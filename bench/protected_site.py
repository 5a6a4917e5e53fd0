"""A protected site: its realm and rules, the nginx that asks the gateway, signed-in browsers."""

import asyncio
import json
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.load import Requests, one_request, token_requests
from bench.people import APP, BROWSING_PEOPLE, people_document, sign_in, token_path
from bench.processes import BenchError
from bench.resource_server import RESOURCE_SERVER, resource_server_form
from bench.stack import CLIENT, TOKEN_LIFESPAN, Site, client_document, import_realms

REALM = BROWSING_PEOPLE
HOST = "app.example.test"
"""The gateway decides about each request."""
CACHED_HOST = "cached.example.test"
"""nginx keeps decisions for a moment."""
OPEN_HOST = "open.example.test"
"""Nothing is asked."""
PEER_HOST = "peer.example.test"
"""oauth2-proxy decides."""
PATH = "/reports/2026/summary"
MACHINES_PATH = "/machines/measurements"
_COOKIE = "__Host-realmgate-session"
_USERS = 64
_AT_ONCE = 1_000


def prepare(site: Site, rules: int) -> dict[str, object]:
    """Import the realm and write a file of so many rules; return the gateway's settings."""
    document = people_document(REALM)
    clients = document["clients"]
    document["clients"] = [*_list(clients), client_document(CLIENT), RESOURCE_SERVER]
    import_realms(site, [document])
    file = site.state / "rules.toml"
    file.write_text(_rules(rules))
    return {"guard_file": file}


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise BenchError(f"the clients of the realm are {value!r}")
    return value


def _rules(count: int) -> str:
    """Return the file; the last rule decides about `PATH`."""
    sections = (
        f'  {{ name = "section-{number}", paths = ["/section-{number}/*"],'
        f' realm_roles = ["reader-{number}"] }},\n'
        for number in range(count - 2)
    )
    return f"""[[sites]]
name = "app"
hosts = ["{HOST}", "{CACHED_HOST}"]
realms = ["{REALM}"]
client = "{APP}"
rules = [
  {{ name = "machines", paths = ["/machines/*"], clients = ["{CLIENT}"] }},
{"".join(sections)}  {{ name = "all", paths = ["/*"] }},
]
"""


def servers(service: Path, peer: Path | None = None) -> str:
    """Return what nginx needs beside the shipped files; service and peer are unix sockets."""
    upstreams = {"service": service} | ({} if peer is None else {"peer": peer})
    texts = ["    include realmgate/guard-cache-zone.conf;\n"]
    texts += [_UPSTREAM.format(name=name, socket=socket) for name, socket in upstreams.items()]
    for listener, verification in (("https", "optional"), ("mtls", "required")):
        kinds = {
            HOST: ("include realmgate/guard-server.conf;", "include realmgate/guard.conf;"),
            CACHED_HOST: ("include realmgate/guard-cache.conf;", "include realmgate/guard.conf;"),
            OPEN_HOST: ("", _PROXIED),
        }
        if peer is not None:
            kinds[PEER_HOST] = (_PEER, f"auth_request /oauth2/auth; {_PROXIED}")
        texts += [
            _SERVER.format(
                listener=listener, verification=verification, host=host, asks=asks, guarded=guarded
            )
            for host, (asks, guarded) in kinds.items()
        ]
    return "".join(texts)


_UPSTREAM = """
    upstream {name} {{
        server unix:{socket};
        keepalive 128;
        keepalive_requests 100000000;
    }}
"""
_PROXIED = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;'
_PEER = f"""
        location = /oauth2/auth {{
            internal;
            {_PROXIED}
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header X-Forwarded-Uri $request_uri;
            proxy_pass http://peer;
        }}
"""
_SERVER = """
    server {{
        include realmgate/site/listen-{listener}.conf;
        server_name {host};
        include realmgate/tls.conf;
        include realmgate/client-certificate-{verification}.conf;
        {asks}
        location / {{
            {guarded}
            proxy_pass http://service;
        }}
    }}
"""


def get(path: str = PATH, *, token: str | None = None, cookies: str | None = None) -> Requests:
    """Return requests for a page of the site."""
    return Requests(path, "", method="GET", token=token, cookies=cookies)


def bearer_token(port: int) -> str:
    """Return an access token of a service account, bound to nothing."""
    form = resource_server_form(grant_type="client_credentials")
    return _access_token(port, Requests(token_path(REALM), form))


def bound_token(port: int) -> str:
    """Return an access token of a service account that is bound to its certificate."""
    return _access_token(port, token_requests(REALM))


def _access_token(port: int, requests: Requests) -> str:
    token: str = json.loads(one_request(port, requests))["access_token"]
    return token


def signed_in_browsers(site: Site, port: int, count: int, file: Path) -> str:
    """Let users sign in and their browsers at the site; return the cookies of all, as `@FILE`.

    The sessions at the site, written by the product's own store, are `count`, those of the realm
    64 at most.
    """
    answers = sign_in(port, REALM, range(1, min(_USERS, count) + 1))
    values = asyncio.run(_add_sessions(site, [a["access_token"] for a in answers], count))
    file.write_text("\n".join(f"{_COOKIE}={value}" for value in values))
    return f"@{file}"


async def _add_sessions(site: Site, tokens: Sequence[str], count: int) -> list[str]:
    # The product's own parts, imported here: the rest of the bench is a stranger to it.
    import jwt  # noqa: PLC0415

    from gateway.bootstrap import open_services  # noqa: PLC0415
    from gateway.domain.forward_auth import SiteSession  # noqa: PLC0415
    from gateway.settings import load_settings  # noqa: PLC0415

    claims = [jwt.decode(token, options={"verify_signature": False}) for token in tokens]
    settings = load_settings(environment=site.environment(), env_file=Path("/nonexistent"))
    values = [secrets.token_urlsafe(32) for _ in range(count)]
    async with open_services(settings) as services:
        realm = await services.directory.realm(REALM)
        if realm is None:
            raise BenchError(f"the realm {REALM} is missing")
        now, lifespan = datetime.now(UTC), timedelta(seconds=TOKEN_LIFESPAN)
        for first in range(0, count, _AT_ONCE):
            await asyncio.gather(
                *(
                    services.site_sessions.add(
                        values[number],
                        SiteSession(
                            site="app",
                            realm_id=realm.realm.id,
                            client=APP,
                            user_id=claims[number % len(claims)]["sub"],
                            session_id=claims[number % len(claims)]["sid"],
                            created_at=now,
                        ),
                        lifespan,
                    )
                    for number in range(first, min(first + _AT_ONCE, count))
                )
            )
    return values
