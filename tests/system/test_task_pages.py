"""The commands of docs/tasks run as they are, against the demonstration with its real nginx.

What each page shows as output is what the commands print. `scripts/docs --commands` runs them too.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.documented_commands import CommandBlock, read_blocks, run_page, shows
from tests.support.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in (ROOT / "docs/tasks").glob("*.md") if page.name != "README.md")
PORTS = ("HTTPS", "MTLS", "SELF_SIGNED", "HTTP", "MANAGEMENT", "DEMO")
STARTED_WITHIN = 180.0


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start the demonstration; yield the environment that docs/tasks/README.md sets up."""
    state = tmp_path_factory.mktemp("demonstration") / "state"
    outside = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REALMGATE_", "KC_"))
    }
    ports = zip(PORTS, free_ports(len(PORTS)), strict=True)
    variables = outside | {f"REALMGATE_{name}_PORT": str(port) for name, port in ports}
    variables["REALMGATE_STATE_DIR"] = str(state)
    _script("run", variables, "--detach")
    try:
        yield _sourced(state / "run.env", outside)
    finally:
        _script("stop", variables)


def _script(name: str, environment: dict[str, str], *arguments: str) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / name, *arguments],
        cwd="/",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=STARTED_WITHIN,
    )
    assert done.returncode == 0, done.stdout


def _sourced(file: Path, outside: dict[str, str]) -> dict[str, str]:
    """Return the environment of a shell that has read the file as the README says."""
    variables = dict(
        line.partition("=")[::2] for line in file.read_text(encoding="utf-8").splitlines()
    )
    programs = (ROOT / ".venv/bin", ROOT / "docs/examples", outside["PATH"], "/usr/sbin")
    path = ":".join(map(str, programs))
    return outside | variables | {"PATH": path}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_task_do_what_it_shows(
    page: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    differences = run_page(page, tmp_path, environment)
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_task_has_commands_that_run(page: Path) -> None:
    blocks = [*read_blocks(page.read_text(encoding="utf-8"))]
    run = [block for block in blocks if block.not_run is None]
    assert len(run) >= (len(blocks) + 1) // 2 > 0


def test_a_page_that_is_wrong_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\necho one\n```\n\n```text\ntwo\n```\n"
        "<!-- exit code: 1 -->\n```sh\ntrue\n```\n```sh\nfalse\ntrue\n```\n```sh\necho no\n```\n"
    )
    found = run_page(page, tmp_path, dict(os.environ))
    assert [text.partition("\n")[0] for text in found] == [
        "page.md:1 shows",
        "page.md:9 exits with 0:",
        "page.md:12 failed:",
    ]


@pytest.mark.parametrize(
    ("expected", "output", "same"),
    [
        ("a\nb\n", "a \nb\n\n", True),
        ("a\nb\n", "a\n", False),
        ("id …, done\n", "id 17, done\n", True),
        ("id …\n", "no\n", False),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\n", "b\nc\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_an_output_is_compared_by_lines(expected: str, output: str, same: bool) -> None:  # noqa: FBT001
    assert shows(expected, output) == same


@pytest.mark.parametrize("comment", ["not run: no time", "not ran: systemd", "exit code: x"])
def test_a_comment_without_meaning_is_refused(comment: str) -> None:
    with pytest.raises(ValueError, match=r"line 2|invalid literal"):
        [*read_blocks(f"<!-- {comment} -->\n```sh\ntrue\n```\n")]


def test_blocks_are_read_with_their_outputs() -> None:
    shown = "```sh\na\n```\n\n```json\n{}\n```\n\ntext\n\n"
    page = f"{shown}<!-- not run: systemd -->\n```sh\nb\n```\ntext\n```text\nc\n```\n"
    assert [*read_blocks(page)] == [
        CommandBlock(1, "a\n", "{}\n"),
        CommandBlock(12, "b\n", None, not_run="systemd"),
    ]
