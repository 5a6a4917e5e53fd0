"""JSON of flows, authenticators and required actions."""

from gateway.representations.flows.authenticator_properties import SECRETS
from gateway.representations.flows.authenticators import (
    AUTHENTICATORS,
    ROLES,
    SUB_FLOW_CHOICES,
    UNAVAILABLE,
    Role,
    of_role,
)
from gateway.representations.flows.defaults import default_configs, default_flows, default_id
from gateway.representations.flows.flow import (
    CONFIG_FIELDS,
    EXECUTION_CHANGE_FIELDS,
    EXECUTION_FIELDS,
    FLOW_FIELDS,
    PRIORITY,
    ExecutionChange,
    ExecutionDraft,
    known_settings,
    parse_change,
    parse_config,
    parse_execution,
    parse_flow,
    parse_names,
    render_config,
    render_execution,
    render_executions,
    render_flow,
    unmasked,
)
from gateway.representations.flows.required_action import (
    ACTION_FIELDS,
    ACTION_NAMES,
    DEFAULT_ACTIONS,
    is_configurable,
    known_config,
    parse_action,
    render_action,
    settings_of,
)
from gateway.representations.flows.stored_flows import (
    GONE,
    action_document,
    actions_in,
    config_document,
    configs_in,
    flow_document,
    flows_in,
    rules_in,
)
