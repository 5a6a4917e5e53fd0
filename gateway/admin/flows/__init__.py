"""Authentication flows, their executions and configurations, and required actions."""

from dataclasses import dataclass

from gateway.admin.flows.administration import FlowAdministration
from gateway.admin.flows.file_import import check_overrides, store_sign_in
from gateway.admin.flows.required_actions import RequiredActionAdministration
from gateway.admin.flows.unit_of_work import require_bindable, require_existing_overrides


@dataclass(frozen=True, slots=True)
class FlowUseCases:
    """Every use case of authentication flows and required actions."""

    administration: FlowAdministration
    required_actions: RequiredActionAdministration
