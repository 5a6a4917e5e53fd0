"""JSON of flows, authenticators and required actions."""

from gateway.representations.flows.authenticators import (
    AUTHENTICATORS,
    ROLES,
    SUB_FLOW_CHOICES,
    Role,
    of_role,
)
from gateway.representations.flows.defaults import default_configs, default_flows, default_id
from gateway.representations.flows.flow import (
    ExecutionChange,
    read_change,
    read_config,
    read_execution,
    read_flow,
    read_names,
    write_config,
    write_execution,
    write_executions,
    write_flow,
)
from gateway.representations.flows.required_action import (
    ACTION_NAMES,
    DEFAULT_ACTIONS,
    MAXIMUM_AGE,
    is_configurable,
    known_config,
    read_action,
    write_action,
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
