"""Deny lists of certificates: use cases of administrators."""

from gateway.admin.denied_certificates.administration import DenyListAdministration
