"""Protected sites: those of realms, which administrators change, and those of realm files."""

from dataclasses import dataclass

from gateway.admin.forward_auth.administration import SiteAdministration
from gateway.admin.forward_auth.file_import import read_sites, store_sites


@dataclass(frozen=True, slots=True)
class ForwardAuthUseCases:
    """Every use case of protected sites."""

    sites: SiteAdministration
