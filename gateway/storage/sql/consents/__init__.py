"""Consents in SQL."""

from gateway.storage.sql.consents.repository import SqlConsents
