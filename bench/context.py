"""What rows share: certificates and prepared databases of one run, made when first asked."""

import shutil
from functools import cached_property

from bench.people import add_people
from bench.population import add_clients, add_realms
from bench.stack import Site, make_certificates, make_site
from bench.workspace import Workspace


class Bench:
    """One run of the bench."""

    def __init__(self, workspace: Workspace, earlier: str | None = None) -> None:
        """Compare with the revision `earlier`, where that is asked for."""
        self.workspace = workspace
        self.earlier = earlier
        self.plan = workspace.plan

    @cached_property
    def site(self) -> Site:
        """A database with the realms of the measurements, a client each."""
        return make_site(self.workspace, "small", make_certificates(self.workspace))

    @cached_property
    def large_site(self) -> Site:
        """A copy of it with many clients and many realms."""
        site = self.copy("large")
        add_clients(site, self.plan.clients)
        add_realms(site, self.plan.realms)
        return site

    @cached_property
    def ten_clients_site(self) -> Site:
        """A copy of it with ten clients more, and one realm more."""
        site = self.copy("ten")
        add_clients(site, 10)
        add_realms(site, 1)
        return site

    @cached_property
    def people_site(self) -> Site:
        """A copy of it with realms whose users sign in by password."""
        site = self.copy("people")
        add_people(site)
        return site

    def copy(self, name: str) -> Site:
        """Copy the state folder, so that two gateways share nothing."""
        state = self.workspace.folder / name
        # A running gateway's sockets and those of its redis-server are nobody else's.
        skip = shutil.ignore_patterns("run", "nginx-*", "*.log", "redis*")
        shutil.copytree(self.site.state, state, ignore=skip)
        return Site(state, self.site.certificates)
