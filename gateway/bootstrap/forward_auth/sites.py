"""Builds the administrative use cases of protected sites."""

from collections.abc import Sequence

from gateway.admin.forward_auth import ForwardAuthUseCases, SiteAdministration
from gateway.bootstrap.services import Services
from gateway.domain.forward_auth import Site


def forward_auth_use_cases(services: Services) -> ForwardAuthUseCases:
    """Return every use case of protected sites."""

    def file_sites() -> Sequence[Site]:
        return () if services.rules_file is None else services.rules_file.sites

    return ForwardAuthUseCases(SiteAdministration(services.database, services.changes, file_sites))
