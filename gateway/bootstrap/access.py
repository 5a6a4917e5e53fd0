"""Builds what every administrative change goes through."""

from gateway.admin.access import Changes
from gateway.bootstrap.services import Services


def administrative_changes(services: Services) -> Changes:
    """Return what begins changes: transaction, events, invalidation."""
    return Changes(services.database, services.clock, services.invalidation)
