"""The choice between alternatives: in the user's order of preference, with the others on offer.

Keycloak: AuthenticationSelectionResolver
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gateway.authentication.engine.sign_in import SignIn
from gateway.domain.authentication import ExecutionStatus
from gateway.domain.flows import (
    KIND_OF,
    PASSKEY_FORM,
    PASSWORD_FORM,
    SECURITY_KEY_FORM,
    FlowStep,
    Place,
    Requirement,
    SignInFlow,
)

_KEY_FORMS: Final = frozenset({SECURITY_KEY_FORM, PASSKEY_FORM})
_ASKED_OF_NAMED: Final = _KEY_FORMS | {PASSWORD_FORM}
_DONE: Final = frozenset(
    {ExecutionStatus.SUCCESS, ExecutionStatus.ATTEMPTED, ExecutionStatus.SETUP_REQUIRED}
)


def is_done(sign_in: SignIn, step: FlowStep) -> bool:
    """Tell whether the step was processed: it is not executed again."""
    return sign_in.status(step) in _DONE


def is_asked_in_any_case(sign_in: SignIn, step: FlowStep) -> bool:
    """Tell whether a step asks users without its credential too, so that it reveals none.

    In a flow that asks for keys it is so for passwords and keys, while the user is only named.
    """
    return step.authenticator in _ASKED_OF_NAMED and _conceals_credentials(sign_in)


def _conceals_credentials(sign_in: SignIn) -> bool:
    steps = sign_in.flow.every_step()
    return sign_in.is_only_named and any(step.authenticator in _KEY_FORMS for step in steps)


def in_order(steps: Sequence[FlowStep], sign_in: SignIn) -> tuple[FlowStep, ...]:
    """Return alternatives, the user's credentials first and in the user's order.

    In the order of the flow where the user's own would reveal keys of a user who is only named.
    """
    account = None if _conceals_credentials(sign_in) else sign_in.account
    held = [] if account is None else [one.type for one in account.credentials or ()]

    def rank(step: FlowStep) -> int:
        kind = _credential(step)
        return held.index(kind) if kind in held else len(held)

    return tuple(sorted(steps, key=rank))


def other_ways(sign_in: SignIn, path: Sequence[FlowStep]) -> tuple[FlowStep, ...]:
    """Return the executions that the user may take instead of the last one of `path`.

    They are the first executions of the alternatives that are left, each with a form for a
    credential that the user has set up or that is asked for in any case, or one that asks who the
    user is.
    """
    return tuple(
        leaf
        for leaf in _alternatives(sign_in.flow, path)
        if leaf.id != path[-1].id and not is_done(sign_in, leaf) and _is_way_of(leaf, sign_in)
    )


def _is_way_of(leaf: FlowStep, sign_in: SignIn) -> bool:
    account, kind = sign_in.account, KIND_OF.get(leaf.authenticator)
    if account is None:
        return kind is not None and kind.names_user
    if is_asked_in_any_case(sign_in, leaf):
        return True
    return _form_of(leaf) in {one.type for one in account.credentials or ()}


def _alternatives(flow: SignInFlow, path: Sequence[FlowStep]) -> Iterator[FlowStep]:
    """Yield the first executions of all alternatives of the highest flow that offers a choice.

    A step that others must precede offers none above it.
    """
    found: SignInFlow | None = None
    parents = [flow, *(step.flow for step in path[:-1] if step.flow is not None)]
    for parent, step in zip(reversed(parents), reversed(path), strict=True):
        if step.requirement is Requirement.ALTERNATIVE:
            found = parent
        elif parent.steps[0].id != step.id:
            break
    if found is not None:
        yield from _leaves(found)


def _leaves(flow: SignInFlow) -> Iterator[FlowStep]:
    """Yield the executions with which a flow can begin."""
    steps = flow.steps if flow.has_alternatives else flow.steps[:1]
    for step in steps:
        if step.flow is None:
            yield step
        elif step.requirement is not Requirement.CONDITIONAL:
            yield from _leaves(step.flow)


def _credential(step: FlowStep) -> str | None:
    """Return the type of credential that an alternative begins with."""
    if step.flow is None:
        kind = KIND_OF.get(step.authenticator)
        return None if kind is None else kind.credential
    first = next(_leaves(step.flow), None)
    return None if first is None else _credential(first)


def _form_of(step: FlowStep) -> str | None:
    """Return the type of credential that the form of an execution asks for."""
    kind = KIND_OF.get(step.authenticator)
    if kind is None or kind.direct_grant is not Place.NOWHERE:
        return None
    return kind.credential
