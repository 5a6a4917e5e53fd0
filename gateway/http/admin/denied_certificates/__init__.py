"""The admin API of deny lists of certificates."""

from gateway.http.admin.denied_certificates.operations import denied_certificate_operations
