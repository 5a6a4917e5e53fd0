"""Builds the administrative use cases of protected sites."""

from gateway.admin.forward_auth import ForwardAuthUseCases, SiteAdministration
from gateway.bootstrap.services import Services


def forward_auth_use_cases(services: Services) -> ForwardAuthUseCases:
    """Return every use case of protected sites."""
    return ForwardAuthUseCases(SiteAdministration(services.database, services.changes))
