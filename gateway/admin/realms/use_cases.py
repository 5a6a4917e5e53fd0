"""The administrative use cases of realms, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.realms.changes import RealmChanges
from gateway.admin.realms.listing import RealmListing
from gateway.admin.realms.localization import Localizations


@dataclass(frozen=True, slots=True)
class RealmUseCases:
    """Every use case of realms but their creation, which is an import."""

    listing: RealmListing
    changes: RealmChanges
    localizations: Localizations
