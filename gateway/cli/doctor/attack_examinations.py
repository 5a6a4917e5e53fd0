"""Attacks the running proxy under a URL by all attacks."""

from collections.abc import Iterator

from gateway.cli.doctor.attacks import ATTACKS
from gateway.cli.doctor.attacks.attack import NotDone, Target
from gateway.cli.doctor.attacks.edge import Unreachable
from gateway.cli.doctor.findings import Examination, Finding, Outcome


def examine_edge(target: Target) -> Iterator[Examination]:
    """Yield what each attack achieved."""
    url = target.edge.url
    try:
        target.edge.ask()
    except Unreachable as failure:
        finding = Finding(f"The proxy cannot be attacked: {failure}", "")
        yield Examination("edge", Outcome.WRONG, findings=(finding,))
        return
    for attack in ATTACKS:
        try:
            findings = tuple(attack.run(target))
        except (NotDone, Unreachable) as reason:
            yield Examination(attack.name, Outcome.NOT_DONE, str(reason))
            continue
        outcome = Outcome.WRONG if findings else Outcome.OK
        text = "" if findings else f"{url}: {attack.repelled}"
        yield Examination(attack.name, outcome, text, findings)
