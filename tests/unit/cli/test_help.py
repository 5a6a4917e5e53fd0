"""What a stranger reads first: every help is whole, and every option says what it is for."""

import gc
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gateway.cli import main


def every_command(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from every_command(found, (*path, name))


COMMANDS = {" ".join(path) or "realmgate": (path, found) for path, found in every_command(main)}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_of_the_help_is_cut_off(name: str) -> None:
    asked = CliRunner().invoke(main, [*COMMANDS[name][0], "--help"], terminal_width=80)
    assert asked.exit_code == 0
    # An argument that may be repeated ends with the same dots.
    assert "..." not in re.sub(r"(?<=[A-Z\]])\.\.\.", "", asked.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_says_what_it_is_for(name: str) -> None:
    command = COMMANDS[name][1]
    assert command.help
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_does_not_exist_ends_with_2(name: str) -> None:
    done = CliRunner().invoke(main, [*COMMANDS[name][0], "--no-such-option", "--nor-this"])
    assert done.exit_code == 2
    assert "Usage: " in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("given", ["redirect", "FORWARD", "elsewhere"])
def test_plain_http_is_given_in_small_letters_or_capitals(given: str, tmp_path: Path) -> None:
    asked = ["nginx", "render", "--output", str(tmp_path), "--upstream", "127.0.0.1:1"]
    done = CliRunner().invoke(main, [*asked, "--certificates", "/c", "--plain-http", given])
    assert done.exit_code == (2 if given == "elsewhere" else 0), done.output


def test_a_command_in_a_program_keeps_its_garbage_collection() -> None:
    before = gc.get_threshold()
    gc.set_threshold(701, *before[1:])
    try:
        for words in (["client", "--help"], ["event", "list", "--help"]):
            CliRunner().invoke(main, words)
            assert gc.get_threshold()[0] == 701
    finally:
        gc.set_threshold(*before)
