"""What a flow comes to, and which ones cannot be used. Keycloak: DefaultAuthenticationFlow."""

from dataclasses import replace

import pytest

from gateway.domain.errors import UnusableSetting
from gateway.domain.flows import (
    CERTIFICATE,
    CODE,
    DENY,
    PASSWORD,
    STANDARD_GRANT,
    USER_CONFIGURED,
    USER_ROLE,
    USERNAME,
    AuthenticatorConfig,
    Execution,
    Flow,
    FlowKind,
    Flows,
    FlowStep,
    Requirement,
    SignInFlow,
    certificate_options,
    client_methods,
    direct_grant_flow,
    needs_username,
)

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
            config=f"config of {name}",
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
PLAIN_FLOW = direct_grant_flow(Flows((PLAIN,)), PLAIN)
IDENTIFIED = (FlowStep(REQUIRED, USERNAME), FlowStep(REQUIRED, PASSWORD))


def grant(
    *named: tuple[str, Requirement],
    part: Flow | None = None,
    config: dict[str, str] | None = None,
) -> SignInFlow:
    """Return what a flow of these steps comes to; `config` is that of the first."""
    made = flow("made", *named)
    own = AuthenticatorConfig(f"config of {named[0][0]}", "own", tuple((config or {}).items()))
    flows = Flows((made, *(() if part is None else (part,))), {own.id: own})
    return direct_grant_flow(flows, made)


def test_only_top_level_flows_of_their_kind_begin_a_sign_in() -> None:
    assert direct_grant_flow(Flows((PLAIN,)), PLAIN).steps == IDENTIFIED
    for wrong in (replace(PLAIN, kind=FlowKind.CLIENT), replace(PLAIN, top_level=False)):
        with pytest.raises(UnusableSetting, match="begins a sign-in"):
            direct_grant_flow(Flows((wrong,)), wrong)


@pytest.mark.parametrize(
    "named",
    [
        (),
        ((USERNAME, REQUIRED),),
        ((USERNAME, REQUIRED), ("allow-access-authenticator", REQUIRED)),
        ((PASSWORD, REQUIRED), (USERNAME, REQUIRED)),
        ((USERNAME, REQUIRED), (PASSWORD, DISABLED)),
        ((USERNAME, REQUIRED), (PASSWORD, ALTERNATIVE)),
        ((USERNAME, ALTERNATIVE), (PASSWORD, ALTERNATIVE)),
        ((USERNAME, DISABLED), (PASSWORD, REQUIRED)),
        ((CERTIFICATE, ALTERNATIVE), (CODE, ALTERNATIVE)),
    ],
)
def test_every_flow_identifies_the_user_first(
    named: tuple[tuple[str, Requirement], ...],
) -> None:
    with pytest.raises(UnusableSetting, match="user name first and for the password next"):
        direct_grant_flow(Flows((flow("made", *named),)), flow("made", *named))


def test_disabled_and_outranked_alternative_steps_are_dropped() -> None:
    assert grant(*FIRST, (CODE, DISABLED)).steps == IDENTIFIED
    assert grant(*FIRST, (CODE, ALTERNATIVE)).steps == IDENTIFIED
    assert grant(*FIRST, (CODE, REQUIRED)).steps == (*IDENTIFIED, FlowStep(REQUIRED, CODE))


def test_only_conditional_sub_flows_keep_their_conditions() -> None:
    part = flow("part", (USER_CONFIGURED, REQUIRED), (CODE, REQUIRED))
    inner = SignInFlow("part", (FlowStep(REQUIRED, USER_CONFIGURED),), (FlowStep(REQUIRED, CODE),))
    conditional = grant(*FIRST, ("part", CONDITIONAL), part=part)
    assert conditional.steps == (*IDENTIFIED, FlowStep(CONDITIONAL, flow=inner))
    assert conditional.steps[2].requirement is STANDARD_GRANT.steps[2].requirement
    required = grant(*FIRST, ("part", REQUIRED), part=part)
    assert required.steps == (
        *IDENTIFIED,
        FlowStep(REQUIRED, flow=replace(inner, conditions=())),
    )


@pytest.mark.parametrize(
    "part",
    [
        flow("part", (CODE, REQUIRED), kind=FlowKind.FORM),
        flow("part", (USER_CONFIGURED, REQUIRED), ("webauthn-authenticator", REQUIRED)),
        flow("part", ("auth-otp-form", ALTERNATIVE), (CODE, ALTERNATIVE)),
        flow("part", ("conditional-level-of-authentication", REQUIRED), (CODE, REQUIRED)),
        flow("part", (PASSWORD, REQUIRED)),
        flow("part", ("part", REQUIRED)),
    ],
)
def test_a_step_without_password_grant_support_voids_the_flow(part: Flow) -> None:
    with pytest.raises(UnusableSetting, match=r"cannot act at this place|no flow that can be run"):
        grant(*FIRST, ("part", CONDITIONAL), part=part)


def test_what_cannot_act_may_be_disabled() -> None:
    part = flow(
        "part", (USER_ROLE, REQUIRED), ("webauthn-authenticator", DISABLED), (DENY, REQUIRED)
    )
    *_, step = grant(*FIRST, ("part", CONDITIONAL), part=part).steps
    assert step.flow is not None
    assert [each.authenticator for each in step.flow.steps] == [DENY]


def test_a_certificate_identifies_the_user_instead_of_a_name() -> None:
    named = {"x509-cert-auth.mapping-source-selection": "Subject's Common Name"}
    found = grant((CERTIFICATE, REQUIRED), (CODE, REQUIRED), config=named)
    assert found.steps == (FlowStep(REQUIRED, CERTIFICATE, named), FlowStep(REQUIRED, CODE))
    assert not needs_username(found)
    assert needs_username(PLAIN_FLOW)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mapping-source-selection", "Shoe size"),
        ("mapper-selection", "Any Mapper"),
        ("timestamp-validation-enabled", "false"),
        ("crl-checking-enabled", "true"),
        ("crldp-checking-enabled", "true"),
        ("ocsp-checking-enabled", "true"),
        ("keyusage", "digitalSignature,signsEverything"),
        ("extendedkeyusage", "anyName"),
        ("certificate-policy", "1.2.3, policy"),
        ("regular-expression", "CN=("),
    ],
)
def test_an_unusable_certificate_demand_voids_the_flow(name: str, value: str) -> None:
    with pytest.raises(UnusableSetting, match=name):
        grant((CERTIFICATE, REQUIRED), config={f"x509-cert-auth.{name}": value})


def test_an_identity_maps_to_as_many_attributes_as_it_has_parts() -> None:
    prefix = "x509-cert-auth."
    both = {
        f"{prefix}mapping-source-selection": "Certificate Serial Number and IssuerDN",
        f"{prefix}mapper-selection": "Custom Attribute Mapper",
    }
    for names in ("serial", "serial##serial", "serial##", "serial##issuer##more"):
        with pytest.raises(UnusableSetting, match="user-attribute-name"):
            certificate_options({**both, f"{prefix}mapper-selection.user-attribute-name": names})
    named = {**both, f"{prefix}mapper-selection.user-attribute-name": "serial##issuer"}
    assert certificate_options(named).attributes == ("serial", "issuer")


def test_deeply_nested_sub_flows_void_the_flow() -> None:
    chain = [
        replace(flow(f"flow-{depth}"), top_level=False).with_executions(
            [Execution(f"step-{depth}", REQUIRED, 0, flow=f"flow-{depth + 1}")]
        )
        for depth in range(12)
    ]
    made = flow("made", *FIRST, ("part", REQUIRED))
    first = made.with_executions(
        replace(each, flow="flow-0") if each.flow else each for each in made.executions
    )
    last = replace(flow("flow-12", (DENY, REQUIRED)), top_level=False)
    with pytest.raises(UnusableSetting, match="no flow that can be run"):
        direct_grant_flow(Flows((first, *chain, last)), first)


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
