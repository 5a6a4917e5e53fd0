"""Rights of callers: roles over a realm, escalation, and settings that prove accounts."""

from gateway.admin.access.account_proof import (
    proven_by_operation,
    require_may_change_client,
    require_may_change_realm,
)
from gateway.admin.access.escalation import (
    has_every_right,
    is_above,
    is_administrative_client,
    may_control_user,
    missing_rights,
    reach_decided_by,
    require_changeable_clients,
    require_changeable_role,
    require_control_of_request,
    require_may_compose,
    require_may_control,
    require_may_control_subtree,
    require_may_grant,
    require_may_join,
    require_may_lift_scope,
    require_may_put_in_scope,
    require_rights_of_realm_accounts,
    require_rights_over_every_realm,
    roles_out_of_reach,
)
from gateway.admin.access.lookups import (
    LARGEST_ANSWER,
    ListingPage,
    existing,
    find_client_by_name,
    find_realm,
    find_user,
    get_user,
    get_user_for_update,
    require_one_answer,
)
from gateway.admin.access.rights import (
    CONTAINED,
    REALM_ADMIN,
    REALM_MANAGEMENT,
    Acting,
    AdminAccess,
    AdminRole,
    ControlledObject,
    ObjectKind,
    Rights,
    administers_the_server,
    administration_client,
    may_create_realms,
    operator,
    require_administrator,
    rights_of,
    rights_over,
)
from gateway.admin.access.role_index import (
    ADMIN,
    CREATE_REALM,
    RoleIndex,
    default_role,
    load_roles,
)
