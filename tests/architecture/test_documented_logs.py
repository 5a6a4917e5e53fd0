"""docs/monitoring.md and docs/log-lines.md name every metric, event and field of the log."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

from gateway.domain.ports.observability import SECURITY_EVENTS
from gateway.http.exchange import LogFields
from gateway.supervisor import deliveries

ROOT = Path(__file__).parents[2]
PAGES = "\n".join(
    (ROOT / page).read_text(encoding="utf-8")
    for page in ("docs/monitoring.md", "docs/log-lines.md")
)
NAMED = set(re.findall(r"`([^`]+)`", PAGES))
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
METRICS = {"Counter", "Gauge", "Histogram"}
PASSED_ON = {"words", "_words", "what", "warning", "record"}
"""Names of events that another place gives: their texts are checked on their own below."""


@cache
def calls() -> tuple[tuple[ast.Module, ast.Call], ...]:
    """Return all calls of the program, each with its module."""
    modules = [ast.parse(path.read_text("utf-8")) for path in (ROOT / "gateway").rglob("*.py")]
    return tuple(
        (module, node)
        for module in modules
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
    )


def log_calls() -> Iterator[tuple[ast.Module, ast.Call]]:
    """Yield the calls that write a line."""
    for module, call in calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr in LEVELS:
            target = ast.unparse(call.func.value)
            if re.search(r"\b_?log\b|_LOG\b|get_logger\(", target):
                yield module, call


def texts(module: ast.Module, node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may be: a constant, one of two, a name of the module."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.IfExp():
            yield from texts(module, node.body)
            yield from texts(module, node.orelse)
        case ast.Name():
            for statement in module.body:
                if (
                    isinstance(statement, ast.AnnAssign)
                    and ast.unparse(statement.target) == node.id
                ):
                    assert statement.value is not None
                    yield from texts(module, statement.value)


def is_named(event: str) -> bool:
    return event in NAMED or event.replace("%s", "…") in NAMED


def test_every_event_of_the_log_is_listed() -> None:
    unlisted, unknown = set(), set()
    for module, call in log_calls():
        argument = call.args[1] if call.func.attr == "log" else call.args[0]  # type: ignore[attr-defined] # an attribute, see log_calls
        found = [*texts(module, argument)]
        unlisted |= {event for event in found if not is_named(event)}
        if not found and not set(re.findall(r"\w+", ast.unparse(argument))) & PASSED_ON:
            unknown.add(ast.unparse(argument))
    assert unlisted == set()
    assert unknown == set(), "an event of the log is a text, or one of two"


def test_the_events_of_queues_are_listed() -> None:
    words = (deliveries.MAILS, deliveries.WEBHOOKS, deliveries.LOGOUT_NOTICES)
    used = {
        text for each in words for text in (each.name, each.failed, each.given_up, each.waiting)
    }
    assert used - NAMED == set()


def test_every_field_of_the_log_is_listed() -> None:
    used = {keyword.arg for _, call in log_calls() for keyword in call.keywords if keyword.arg}
    used |= {field.name for field in fields(LogFields)}
    used |= {"time", "level", "event", "trace_id", "remote_address", "certificate"}
    assert len(used) > 30
    assert used - NAMED == set()


def metric_patterns() -> Iterator[str]:
    """Yield the names of metrics; a part that the program computes is any word."""
    for _, call in calls():
        if isinstance(call.func, ast.Name) and call.func.id in METRICS and call.args:
            match call.args[0]:
                case ast.Constant(value=str() as name) if name.startswith("realmgate_"):
                    yield f"{name}_total" if call.func.id == "Counter" else name
                case ast.JoinedStr(values=parts):
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "[a-z]+"
                        for part in parts
                    )


def test_every_metric_is_listed_and_no_other() -> None:
    patterns = set(metric_patterns())
    listed = {name for name in NAMED if re.fullmatch(r"realmgate_[a-z_]+", name)}
    assert len(patterns) >= 12
    assert {
        each for each in patterns if not any(re.fullmatch(each, name) for name in listed)
    } == set()
    assert {
        name for name in listed if not any(re.fullmatch(each, name) for each in patterns)
    } == set()


def test_every_kind_of_event_is_listed() -> None:
    used = {
        text
        for module, call in calls()
        if isinstance(call.func, ast.Attribute)
        and call.func.attr.endswith(("security_event", "_log_failure"))
        for text in texts(module, call.args[0])
    }
    assert set(SECURITY_EVENTS) <= used
    assert used - NAMED == set()
