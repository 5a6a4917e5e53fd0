"""Browser flows as realm files have them, with levels of authentication. Keycloak: step-up."""

from typing import Any, Final

from tests.support.sign_in_browser import web_client

_LEVEL: Final = "conditional-level-of-authentication"
LEVEL_CONFIGS: Final = [
    {
        "alias": f"level-{level}",
        "config": {"loa-condition-level": str(level), "loa-max-age": "36000"},
    }
    for level in (1, 2)
]


def step(requirement: str, priority: int, **what: Any) -> dict[str, Any]:
    return {"requirement": requirement, "priority": priority, **what}


def sub_flow(alias: str, requirement: str, priority: int) -> dict[str, Any]:
    return step(requirement, priority, flowAlias=alias, authenticatorFlow=True)


def flow(alias: str, *steps: dict[str, Any], top: bool = False) -> dict[str, Any]:
    return {
        "id": f"id-of-{alias}",
        "alias": alias,
        "providerId": "basic-flow",
        "topLevel": top,
        "builtIn": False,
        "authenticationExecutions": list(steps),
    }


def level(number: int, *authenticators: str) -> list[dict[str, Any]]:
    """Return the flow `level-<number>`, which any of the authenticators satisfies."""
    name, requirement = f"level-{number}", "ALTERNATIVE"
    return [
        flow(
            name,
            step("REQUIRED", 1, authenticator=_LEVEL, authenticatorConfig=name),
            sub_flow(f"{name}-ways", "REQUIRED", 2),
        ),
        flow(
            f"{name}-ways",
            *(step(requirement, at, authenticator=one) for at, one in enumerate(authenticators)),
        ),
    ]


def leveled_flows(*second: str) -> list[dict[str, Any]]:
    """Return flows: `levels`, a password then one of `second`, and some without levels."""
    return [
        flow(
            "levels",
            step("ALTERNATIVE", 1, authenticator="auth-cookie"),
            sub_flow("all-levels", "ALTERNATIVE", 2),
            top=True,
        ),
        flow(
            "all-levels",
            sub_flow("level-1", "CONDITIONAL", 1),
            sub_flow("level-2", "CONDITIONAL", 2),
        ),
        *level(1, "auth-username-password-form"),
        *level(2, *second),
        flow(
            "codes-alone",
            step("REQUIRED", 1, authenticator="auth-username-form"),
            step("REQUIRED", 2, authenticator="auth-otp-form"),
            top=True,
        ),
        flow(
            "passwords-alone",
            step("ALTERNATIVE", 1, authenticator="auth-cookie"),
            step("ALTERNATIVE", 2, authenticator="auth-username-password-form"),
            top=True,
        ),
        flow(
            "both-factors",
            step("ALTERNATIVE", 1, authenticator="auth-cookie"),
            sub_flow("both-forms", "ALTERNATIVE", 2),
            top=True,
        ),
        flow(
            "both-forms",
            step("REQUIRED", 1, authenticator="auth-username-password-form"),
            step("REQUIRED", 2, authenticator="auth-otp-form"),
        ),
    ]


def client_with_flow(client_id: str, alias: str, **fields: Any) -> dict[str, Any]:
    """Return a client with a browser flow of its own."""
    overrides = {"browser": f"id-of-{alias}"}
    return web_client(client_id, authenticationFlowBindingOverrides=overrides, **fields)
