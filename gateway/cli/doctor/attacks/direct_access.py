"""The gateway's own port, without the proxy. attacks: A1."""

from collections.abc import Iterator
from typing import Final

from gateway.cli.doctor.attacks.attack import Attack, NotDone, Target
from gateway.cli.doctor.attacks.edge import Edge, Unreachable
from gateway.cli.doctor.findings import Finding
from gateway.cli.doctor.nginx.proxy import DECISIONS, SECRET_HEADER

_UNREADABLE: Final = "realmgate-doctor"
_NOT_FOUND: Final = 404
_REMEDY: Final = (
    "REALMGATE_LISTEN=unix:PATH; or REALMGATE_TRUSTED_PROXIES with the proxy's addresses alone,"
    " REALMGATE_PROXY_SECRET_FILE, and a firewall"
)


def _run(target: Target) -> Iterator[Finding]:
    ports = sorted(_ports(target))
    if not ports:
        raise NotDone("the gateway has no TCP port.")
    reached = False
    for port in ports:
        edge = Edge(f"http://{port}/realms/master")
        try:
            usual = edge.ask()
            trusted = [
                name
                for name in (target.gateway.certificate_header, "X-Forwarded-For")
                if edge.ask(headers=((name, _UNREADABLE),)).status != usual.status
            ]
            decision = edge.ask(f"{DECISIONS}nginx", headers=((SECRET_HEADER, _UNREADABLE),))
        except Unreachable:
            continue
        reached = True
        if decision.status != _NOT_FOUND:
            trusted.append(f"questions to {DECISIONS}")
        if trusted:
            yield Finding(
                f"The gateway on {port} takes this machine for its proxy: it trusts"
                f" {', '.join(trusted)}",
                _REMEDY,
            )
    if not reached:
        raise NotDone(f"nothing answers on {', '.join(ports)}.")


def _ports(target: Target) -> set[str]:
    """Return host and port of the gateway, as it listens and as nginx connects."""
    found = set() if target.gateway.listen.startswith("unix:") else {target.gateway.listen}
    if target.proxy is not None:
        for location in target.proxy.to_gateway:
            address = target.proxy.configuration.address(location)
            if address is not None and address.scheme == "http":
                found |= {host for host in address.hosts if ":" in host}
    tcp = {host for host in found if not host.startswith("unix:")}
    return {host.replace("0.0.0.0:", "127.0.0.1:").replace("[::]:", "[::1]:") for host in tcp}


ATTACK = Attack("direct-access", "The gateway trusts only its proxy.", _run)
