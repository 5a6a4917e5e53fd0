"""The rows of what decides about client certificates."""

from gateway.http.admin.certificates.authorities import authority_operations
from gateway.http.admin.certificates.expiry import expiry_operations
from gateway.http.admin.certificates.explanation import explanation_operations
