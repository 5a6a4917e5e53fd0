"""Realms: listing, defaults and changes, and their texts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.domain.exports import load_exports

if TYPE_CHECKING:
    from gateway.admin.realms.administration import RealmAdministration, require_sender
    from gateway.admin.realms.administrators import (
        Administrator,
        ensure_administrator,
        list_administrators,
    )
    from gateway.admin.realms.defaults import (
        ensure_administration,
        ensure_defaults,
        ensure_realm_defaults,
    )
    from gateway.admin.realms.listing import VIEW_REALM, RealmListing, RealmViews, realm_document
    from gateway.admin.realms.localization import Localizations
else:
    __getattr__ = load_exports(__name__, __file__)


@dataclass(frozen=True, slots=True)
class RealmUseCases:
    """Every use case of realms but their creation, which is an import."""

    listing: "RealmListing"
    administration: "RealmAdministration"
    localizations: "Localizations"
