"""The one list of everything that decides how accounts and clients are proven.

A caller who changes such a setting could then sign in as any account of the realm: by a certificate
of an own authority, a link in a mail, a flow that asks for less. So each change needs the rights of
all of them (`require_rights_of_realm_accounts`). A value that is sent again unchanged needs none.

Every member and every attribute of a realm that acts, every member of a client and every operation
of the admin API stands in exactly one of the two parts of its list, with a reason of a few words. A
test fails for a name in neither, and an operation in neither stops the gateway. A new kind of proof
is one line. docs/decisions/0021-settings-that-prove-accounts.md
"""

from gateway.admin.access.account_proof.changes import (
    require_may_change_client,
    require_may_change_realm,
)
from gateway.admin.access.account_proof.operations import (
    OPERATIONS,
    OperationList,
    operation_name,
    proven_by_operation,
)
from gateway.admin.access.account_proof.settings import (
    CLIENT_MEMBERS,
    REALM_ATTRIBUTES,
    REALM_MEMBERS,
    ProofList,
    attribute_proves,
    member_proves,
)
