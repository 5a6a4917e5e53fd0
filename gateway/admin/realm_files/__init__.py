"""Realm files: import, export, plan and dry run of whole realms and of parts of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.domain.exports import load_exports

if TYPE_CHECKING:
    from gateway.admin.realm_files.dry_run import Difference, ImportDryRun, RealmDifference
    from gateway.admin.realm_files.export import PartialExport, stream_realm
    from gateway.admin.realm_files.files import REFERENCE_REALMS, RealmFile, load_realm_files
    from gateway.admin.realm_files.partial_import import PartialImport
    from gateway.admin.realm_files.plan import ImportedRealm
    from gateway.admin.realm_files.realm_import import RealmCreation, RealmImport
    from gateway.admin.realm_files.report import (
        GatewayNames,
        Report,
        render_report,
        render_short_report,
        report_repetitions,
    )
    from gateway.admin.realm_files.user_import import ImportProgress, UserImport
else:
    __getattr__ = load_exports(__name__, __file__)


@dataclass(frozen=True, slots=True)
class RealmFileUseCases:
    """Every use case of realm files in the admin API."""

    creation: "RealmCreation"
    partial_export: "PartialExport"
    partial_import: "PartialImport"
