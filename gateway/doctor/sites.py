"""Examines the protected sites: what they name, in their realms."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gateway.admin.site_findings import SiteCheck, SiteProblem, find_site_problems
from gateway.doctor.findings import Examination, ExaminationOutcome, Finding
from gateway.doctor.installation import has_database
from gateway.domain.errors import RealmgateError

if TYPE_CHECKING:
    from gateway.settings import Settings

_GOOD: Final = {
    SiteCheck.REALMS: "The realms of every protected site exist.",
    SiteCheck.CLIENT: "Browsers can sign in at every site that accepts sessions.",
    SiteCheck.REDIRECT_URIS: "The clients of sites have a redirect URI for each host.",
    SiteCheck.REQUIREMENTS: "The roles, groups, clients and scopes that rules require exist.",
}
"""The good state of each check, in the order of the report."""


def examine_sites(settings: "Settings") -> Iterator[Examination]:
    """Yield one examination for each check; none where there is no database yet."""
    from gateway.bootstrap.encryption_keys import encryption_keys_exist

    if not has_database(settings) or not encryption_keys_exist(settings):
        return
    try:
        problems = asyncio.run(_problems(settings))
    except (RealmgateError, OSError):  # which another check reports
        reason = "the protected sites or their realms cannot be read"
        yield Examination(SiteCheck.REALMS, ExaminationOutcome.NOT_DONE, f"{reason}.")
        return
    for check, good in _GOOD.items():
        of_check = [problem for problem in problems if problem.check is check]
        findings = tuple(Finding(each.problem, each.remedy) for each in of_check)
        if not of_check:
            yield Examination(check, ExaminationOutcome.OK, good)
        elif any(problem.stops for problem in of_check):
            yield Examination(check, ExaminationOutcome.WRONG, "", findings)
        else:
            yield Examination(check, ExaminationOutcome.WARNING, "", findings)


async def _problems(settings: "Settings") -> list[SiteProblem]:
    """Return the problems of the sites of the rules file and of all realms."""
    from gateway.bootstrap.services import open_services

    async with open_services(settings) as services, services.database.read() as stores:
        sites = [site for of_realm in (await stores.sites.all()).values() for site in of_realm]
        if services.rules_file is not None:
            services.rules_file.load()
            sites += services.rules_file.sites
        return [
            problem
            for site in sites
            for problem in await find_site_problems(stores, site, settings.public_url)
        ]
