"""Operations on authentication flows and required actions. Keycloak: 7.4."""

from gateway.http.admin.flows.executions import ExecutionHandlers
from gateway.http.admin.flows.flows import FlowHandlers
from gateway.http.admin.flows.required_actions import RequiredActionHandlers
