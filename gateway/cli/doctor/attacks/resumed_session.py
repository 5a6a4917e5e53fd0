"""A TLS session of a certificate, resumed: it would outlive a revocation. attacks: A9, A13."""

from collections.abc import Iterator

from gateway.cli.doctor.attacks.attack import Attack, NotDone, Target
from gateway.cli.doctor.findings import Finding


def _run(target: Target) -> Iterator[Finding]:
    if target.certificate is None or target.edge.scheme == "http":
        raise NotDone("--certificate FILE and a URL of https are needed.")
    first, again = target.edge.ask_twice(target.certificate)
    if not first.status:
        raise NotDone(f"{target.edge.url} refuses the certificate.")
    if again.resumed:
        yield Finding(
            f"{target.edge.url} resumes TLS sessions with client certificates",
            "ssl_session_cache off; ssl_session_tickets off; (include realmgate/tls.conf)",
        )


ATTACK = Attack("resumed-session", "TLS sessions are not resumed.", _run)
