"""Users and their credentials in SQL."""

from gateway.storage.sql.users.attribute_index import index_terms
from gateway.storage.sql.users.batches import SqlUserBatches
from gateway.storage.sql.users.lineage import Given, groups_above, groups_of, with_parents
from gateway.storage.sql.users.repository import (
    SqlUsers,
    credential_context,
    linked_users,
    read_credential,
    read_user,
)
