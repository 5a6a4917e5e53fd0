"""What a caller may do: rights, escalation, and the transaction of an administrative change."""

from gateway.admin.access.access import (
    Acting,
    AdminAccess,
    Caller,
    ControlledObject,
    ObjectKind,
    Rights,
    may_create_realms,
    operator,
    rights_of,
    rights_over,
)
from gateway.admin.access.account_proof import (
    proven_by_operation,
    require_may_change_client,
    require_may_change_realm,
)
from gateway.admin.access.administration_roles import (
    CONTAINED,
    REALM_ADMIN,
    REALM_MANAGEMENT,
    AdminRole,
    administration_client,
)
from gateway.admin.access.administrators import (
    Administrators,
    administers_the_server,
    require_administrator,
)
from gateway.admin.access.entity_tags import (
    RenderedDocument,
    entity_tag,
    names_state,
    require_match,
)
from gateway.admin.access.errors import (
    AdminRefusal,
    Forbidden,
    InsufficientLevel,
    InvalidRequest,
    MailFailed,
    MalformedBody,
    MissingPart,
    MissingRights,
    NotAcceptable,
    NotAuthenticated,
    NotFound,
    NotSupported,
    PreconditionFailed,
    TooMany,
    UnknownPage,
    WireFamily,
    WrongClient,
    duplicate_resource,
)
from gateway.admin.access.escalation import (
    has_every_right,
    is_above,
    is_administrative_client,
    missing_rights,
    reach_decided_by,
    require_changeable_clients,
    require_changeable_role,
    require_may_compose,
    require_may_grant,
    require_may_join,
    require_may_lift_scope,
    require_may_put_in_scope,
    roles_out_of_reach,
)
from gateway.admin.access.finding import (
    existing,
    find_client_by_name,
    find_realm,
    find_user,
    get_user,
    get_user_for_update,
)
from gateway.admin.access.paging import LARGEST_ANSWER, Page, require_one_answer
from gateway.admin.access.privileged_objects import (
    AccountControl,
    may_control_user,
    require_may_control,
    require_may_control_subtree,
    require_rights_of_realm_accounts,
)
from gateway.admin.access.role_index import (
    ADMIN,
    CREATE_REALM,
    RoleIndex,
    default_role,
    load_roles,
)
