"""Attacks the running proxy under a URL by all attacks."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gateway.cli.doctor.attacks import ATTACKS
from gateway.cli.doctor.attacks.attack import NotDone, Target
from gateway.cli.doctor.attacks.edge import Unreachable
from gateway.cli.doctor.findings import Examination, Finding, Outcome
from gateway.domain.errors import RealmgateError
from gateway.forward_auth.site_table import SiteTable

if TYPE_CHECKING:
    from gateway.settings import Settings


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


def current_sites(settings: "Settings") -> SiteTable | None:
    """Return the protected sites, None where the stores or the rules file cannot be read.

    The examination of the installation reports the reason.
    """
    from gateway.bootstrap.services import open_services
    from gateway.cli.doctor.installation import has_database

    if not has_database(settings):
        return None

    async def read() -> SiteTable:
        async with open_services(settings) as services:
            if services.rules_file is not None:
                services.rules_file.load()
            return await services.sites.table()

    try:
        return asyncio.run(read())
    except (RealmgateError, OSError):
        return None
