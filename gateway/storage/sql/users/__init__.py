"""Users and their credentials in SQL."""

from gateway.storage.sql.users.attribute_index import index_terms
from gateway.storage.sql.users.batches import SqlUserBatches
from gateway.storage.sql.users.credentials import credential_context, read_credential
from gateway.storage.sql.users.lineage import Given, groups_above, groups_of, with_parents
from gateway.storage.sql.users.repository import (
    SqlUsers,
    linked_users,
    read_user,
)
