"""Certificate authorities that administrators register for a realm or for one client of it."""

from gateway.admin.authorities.administration import AuthorityAdministration
from gateway.admin.authorities.file_import import read_authorities, store_authorities
