"""Groups in SQL."""

from gateway.storage.sql.groups.catalogue import SqlGroupCatalogue
from gateway.storage.sql.groups.repository import SqlGroups, path_of
