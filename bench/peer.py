"""node-oidc-provider behind the same nginx, pinned like Realmgate."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.load import Requests
from bench.processes import BOTH_CORES, LOAD_CORES, SERVER_CORES, output_of, running, until
from bench.stack import CLIENT, Site, Stack, nginx
from bench.workspace import BENCH, Workspace

_SOURCE = BENCH / "peers" / "node-oidc-provider"


def peer_requests(algorithm: str) -> Requests:
    """Ask the peer for JWT access tokens signed by `algorithm`."""
    body = f"grant_type=client_credentials&client_id={CLIENT}&resource=urn:bench:{algorithm}"
    return Requests("/token", body)


@contextmanager
def peer_stacks(workspace: Workspace, site: Site) -> Iterator[tuple[Stack, Stack]]:
    """Install the peer as its lock file says, and run it behind two nginx.

    The first shares the peer's core, the second has the load's.
    """
    folder = workspace.folder / "node-oidc-provider"
    shutil.copytree(_SOURCE, folder, ignore=shutil.ignore_patterns("node_modules"))
    install = ["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
    output_of(install, cores=BOTH_CORES, seconds=180, environment=dict(os.environ), cwd=folder)
    socket = folder / "peer.sock"
    log = folder / "peer.log"
    environment = {"PATH": os.environ["PATH"], "NODE_ENV": "production"}
    command: list[str | Path] = ["node", "server.mjs", socket]
    with running(
        command, cores=SERVER_CORES, log=log, environment=environment, cwd=folder
    ) as process:
        until(socket.with_name("peer.sock.ready").exists, "the peer", process, log)
        upstream = f"unix:{socket}"
        with (
            nginx(site, upstream, SERVER_CORES) as (shared, shared_mtls, shared_https),
            nginx(site, upstream, LOAD_CORES) as (apart, apart_mtls, apart_https),
        ):
            yield (
                Stack(process, shared, shared_mtls, shared_https, 0, site),
                Stack(process, apart, apart_mtls, apart_https, 0, site),
            )
