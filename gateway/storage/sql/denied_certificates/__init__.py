"""Deny lists of certificates on SQL."""

from gateway.storage.sql.denied_certificates.repository import SqlDeniedCertificates
