"""The administrative use cases of realm files, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.realm_files.export import PartialExport
from gateway.admin.realm_files.partial_import import PartialImport
from gateway.admin.realm_files.realm_creation import RealmCreation


@dataclass(frozen=True, slots=True)
class RealmFileUseCases:
    """Every use case of realm files in the admin API."""

    creation: RealmCreation
    partial_export: PartialExport
    partial_import: PartialImport
