"""The choice between alternatives: in the user's order of preference, with the others on offer.

Keycloak: AuthenticationSelectionResolver
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gateway.authentication.accounts import Account
from gateway.authentication.engine.sign_in import SignIn
from gateway.domain.authentication import ExecutionStatus
from gateway.domain.flows import KIND_OF, FlowStep, Place, Requirement, SignInFlow

_DONE: Final = frozenset(
    {ExecutionStatus.SUCCESS, ExecutionStatus.ATTEMPTED, ExecutionStatus.SETUP_REQUIRED}
)


def is_done(sign_in: SignIn, step: FlowStep) -> bool:
    """Tell whether the step was processed: it is not executed again."""
    return sign_in.status(step) in _DONE


def in_order(steps: Sequence[FlowStep], account: Account | None) -> tuple[FlowStep, ...]:
    """Return alternatives: those of the user's credentials first, in the user's order."""
    held = [] if account is None else [one.type for one in account.credentials or ()]

    def rank(step: FlowStep) -> int:
        kind = _credential(step)
        return held.index(kind) if kind in held else len(held)

    return tuple(sorted(steps, key=rank))


def other_ways(sign_in: SignIn, path: Sequence[FlowStep]) -> tuple[FlowStep, ...]:
    """Return the executions that the user may take instead of the last one of `path`.

    They are the first executions of the alternatives that are left, each with a form for a
    credential that the user has set up, or one that asks who the user is.
    """
    account = sign_in.account
    return tuple(
        leaf
        for leaf in _alternatives(sign_in.flow, path)
        if leaf.id != path[-1].id and not is_done(sign_in, leaf) and _is_way_of(leaf, account)
    )


def _is_way_of(leaf: FlowStep, account: Account | None) -> bool:
    kind = KIND_OF.get(leaf.authenticator)
    if account is None:
        return kind is not None and kind.names_user
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
