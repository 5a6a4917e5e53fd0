"""No certificate, one of another authority, an expired and a revoked one. attacks: A6, A8, A9."""

from collections.abc import Iterator

from gateway.cli.doctor.attacks.attack import Attack, NotDone, Target
from gateway.cli.doctor.findings import Finding


def _run(target: Target) -> Iterator[Finding]:
    if target.certificate is None:
        raise NotDone("--certificate FILE with a good certificate and its key is needed.")
    good = target.edge.ask(certificate=target.certificate)
    if not good.allowed:
        raise NotDone(f"{target.edge.url} answers {good} to the good certificate.")
    if target.edge.ask().allowed:
        raise NotDone(f"{target.edge.url} is answered without a certificate as well.")
    for bad in (target.make_impostor(), *target.bad_certificates):
        if target.edge.ask(certificate=bad).allowed:
            yield Finding(
                f"{target.edge.url} accepts a certificate {bad.kind}",
                "ssl_verify_client on; ssl_crl FILE; (include"
                " realmgate/client-certificate-required.conf), and reload nginx",
            )


ATTACK = Attack("bad-certificates", "Only the good certificate is accepted.", _run)
