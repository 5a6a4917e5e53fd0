"""What a flow comes to, and which ones are of no use. Keycloak: DefaultAuthenticationFlow."""

from dataclasses import replace

import pytest

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows.effects import (
    CODE,
    PASSWORD,
    USER_CONFIGURED,
    USERNAME,
    SecondFactor,
    client_methods,
    second_factor,
)
from gateway.domain.flows.flows import Execution, Flow, FlowKind, Flows, Requirement

REQUIRED, DISABLED = Requirement.REQUIRED, Requirement.DISABLED
ALTERNATIVE, CONDITIONAL = Requirement.ALTERNATIVE, Requirement.CONDITIONAL


def steps(*named: tuple[str, Requirement]) -> tuple[Execution, ...]:
    """Return steps in this order; `part` is the inner flow."""
    return tuple(
        Execution(
            id=f"{index}-{name}",
            requirement=requirement,
            priority=index,
            authenticator=None if name == "part" else name,
            flow="part" if name == "part" else None,
            config=None,
        )
        for index, (name, requirement) in enumerate(named)
    )


def flow(name: str, *named: tuple[str, Requirement], kind: FlowKind = FlowKind.BASIC) -> Flow:
    """Return a flow; it is a part where it is named so."""
    made = Flow(
        id=name, alias=name, kind=kind, description="", top_level=name != "part", built_in=False
    )
    return made.with_executions(steps(*named))


FIRST = ((USERNAME, REQUIRED), (PASSWORD, REQUIRED))
PLAIN = flow("plain", *FIRST)


def factor(*named: tuple[str, Requirement], part: Flow | None = None) -> SecondFactor:
    """Return what a flow of these steps asks for."""
    made = flow("made", *named)
    return second_factor(Flows((made, *(() if part is None else (part,)))), made)


def test_no_other_kind_of_flow_and_no_part_of_one_begins_a_sign_in() -> None:
    assert second_factor(Flows((PLAIN,)), PLAIN) is SecondFactor.NEVER
    for wrong in (replace(PLAIN, kind=FlowKind.CLIENT), replace(PLAIN, top_level=False)):
        with pytest.raises(UnusableSetting, match="begins a sign-in"):
            second_factor(Flows((wrong,)), wrong)


@pytest.mark.parametrize(
    "named",
    [
        (),
        ((USERNAME, REQUIRED),),
        ((PASSWORD, REQUIRED), (USERNAME, REQUIRED)),
        ((USERNAME, REQUIRED), (PASSWORD, DISABLED)),
        ((USERNAME, REQUIRED), (PASSWORD, ALTERNATIVE)),
        ((USERNAME, DISABLED), (PASSWORD, REQUIRED)),
    ],
)
def test_name_and_password_are_asked_for_by_every_flow(
    named: tuple[tuple[str, Requirement], ...],
) -> None:
    with pytest.raises(UnusableSetting, match="user name first and for the password next"):
        factor(*named)


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        ((CODE, REQUIRED), SecondFactor.ALWAYS),
        ((CODE, DISABLED), SecondFactor.NEVER),
        ((CODE, ALTERNATIVE), SecondFactor.NEVER),
    ],
)
def test_a_code_is_asked_of_everybody_or_of_nobody(
    named: tuple[str, Requirement], asked: SecondFactor
) -> None:
    assert factor(*FIRST, named) is asked


@pytest.mark.parametrize(
    ("outer", "condition", "code", "asked"),
    [
        (CONDITIONAL, REQUIRED, REQUIRED, SecondFactor.WHERE_SET_UP),
        (CONDITIONAL, REQUIRED, ALTERNATIVE, SecondFactor.WHERE_SET_UP),
        (CONDITIONAL, REQUIRED, DISABLED, SecondFactor.NEVER),
        (CONDITIONAL, DISABLED, REQUIRED, SecondFactor.NEVER),
        (REQUIRED, REQUIRED, REQUIRED, SecondFactor.ALWAYS),
        (REQUIRED, REQUIRED, DISABLED, SecondFactor.NEVER),
        (DISABLED, REQUIRED, REQUIRED, SecondFactor.NEVER),
    ],
)
def test_a_part_asks_for_a_code_of_who_has_a_device(
    outer: Requirement, condition: Requirement, code: Requirement, asked: SecondFactor
) -> None:
    part = flow("part", (USER_CONFIGURED, condition), (CODE, code))
    assert factor(*FIRST, ("part", outer), part=part) is asked


@pytest.mark.parametrize(
    "part",
    [
        None,
        flow("part", (CODE, REQUIRED), kind=FlowKind.FORM),
        flow("part", (USER_CONFIGURED, REQUIRED), ("webauthn-authenticator", REQUIRED)),
        flow("part", (CODE, REQUIRED), ("webauthn-authenticator", REQUIRED)),
        flow("part", ("conditional-user-role", REQUIRED), (CODE, REQUIRED)),
    ],
)
def test_what_else_a_part_may_ask_for_is_of_no_use(part: Flow | None) -> None:
    with pytest.raises(UnusableSetting, match=r"code of those|and for nothing else"):
        factor(*FIRST, ("part", CONDITIONAL), part=part)


def test_one_thing_at_most_follows_the_password() -> None:
    with pytest.raises(UnusableSetting, match="one thing at most"):
        factor(*FIRST, (CODE, REQUIRED), ("part", REQUIRED), part=flow("part", (CODE, REQUIRED)))


def test_methods_of_clients_are_those_that_are_on() -> None:
    clients = flow(
        "clients",
        ("client-secret", ALTERNATIVE),
        ("client-x509", DISABLED),
        ("client-jwt", ALTERNATIVE),
        kind=FlowKind.CLIENT,
    )
    assert client_methods(Flows((clients,)), clients) == {"client-secret", "client-jwt"}
    required = clients.with_executions(
        steps(("client-jwt", REQUIRED), ("client-secret", ALTERNATIVE))
    )
    assert client_methods(Flows((required,)), required) == {"client-jwt"}


@pytest.mark.parametrize(
    "wrong",
    [
        PLAIN,
        replace(flow("clients", ("client-jwt", REQUIRED), kind=FlowKind.CLIENT), top_level=False),
        flow("clients", (PASSWORD, ALTERNATIVE), kind=FlowKind.CLIENT),
        flow("clients", ("part", ALTERNATIVE), kind=FlowKind.CLIENT),
    ],
)
def test_clients_prove_themselves_by_methods_alone(wrong: Flow) -> None:
    with pytest.raises(UnusableSetting):
        client_methods(Flows((wrong,)), wrong)
