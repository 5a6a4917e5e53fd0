"""Commands of a documentation page, run literally, and the outputs that the page shows.

A fence `sh` is a block of commands. A fence of another language that follows it, with nothing but
blank lines between, shows its output. In an output `…` stands for any text in its line, and a line
of `…` alone for any number of lines. Comments before a fence change what it means:

    <!-- not run: REASON -->    the block is not run; REASON begins with a reason of UNAVAILABLE
    <!-- exit code: 1 -->       the last command of the block exits with 1
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

UNAVAILABLE: Final = ("systemd", "a second machine", "a running Keycloak", "an earlier version")
"""What the machine of the tests lacks: reasons for a block that is not run."""
PAGE_SECONDS: Final = 280.0
_OF_PAGE: Final = "FOLDER_OF_TASK_PAGE"
_FENCE: Final = re.compile(
    r"(?P<comment>^<!-- [^\n]+ -->\n)?^```(?P<language>[a-z]+)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_COMMENT: Final = re.compile(r"<!-- (not run|exit code): (.+) -->")
_STOP: Final = "…"


@dataclass(frozen=True, slots=True)
class CommandBlock:
    """A block of commands in the page, with the output that the page shows, if it shows one."""

    line: int
    commands: str
    output: str | None
    exit_code: int = 0
    not_run: str | None = None


def read_blocks(page: str) -> Iterator[CommandBlock]:
    """Yield the blocks of commands; ValueError for a comment that means nothing."""
    fences = [*_FENCE.finditer(page)]
    for number, fence in enumerate(fences):
        if fence["language"] != "sh":
            continue
        line = page.count("\n", 0, fence.start("language")) + 1
        following = fences[number + 1] if number + 1 < len(fences) else None
        shown = None
        if following is not None and following["language"] != "sh":
            between = page[fence.end() : following.start()]
            shown = following["text"] if not between.strip() else None
        yield CommandBlock(line, fence["text"], shown, **_meaning(fence["comment"], line))


def _meaning(comment: str | None, line: int) -> dict[str, "int | str"]:
    if comment is None:
        return {}
    match _COMMENT.fullmatch(comment.strip()):
        case None:
            raise ValueError(f"line {line}: {comment.strip()} means nothing here")
        case found if found[1] == "exit code":
            return {"exit_code": int(found[2])}
        case found if found[2].startswith(UNAVAILABLE):
            return {"not_run": found[2]}
    raise ValueError(f"line {line}: not run, for a reason that is none of {UNAVAILABLE}")


def run_page(page: Path, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run the blocks of a page in one shell in `folder`; return what differs from the page."""
    blocks = [block for block in read_blocks(page.read_text("utf-8")) if block.not_run is None]
    results = folder / ".results"
    results.mkdir()
    script = results / "script"
    script.write_text("".join(_script(blocks, results)), encoding="utf-8")
    mark = {_OF_PAGE: os.fspath(folder), "HOME": os.fspath(folder)}
    try:
        subprocess.run(
            ["bash", script],
            cwd=folder,
            env={**environment, **mark, "LC_ALL": "C.UTF-8", "COLUMNS": "100"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=PAGE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        pass  # the block that was running has no exit code, which is a difference
    finally:
        _end_processes(folder)
    return [*_differences(page.name, blocks, results)]


def _end_processes(folder: Path) -> None:
    """End what the commands of a page have left running, such as a server."""
    mark = f"{_OF_PAGE}={folder}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


def _script(blocks: list[CommandBlock], results: Path) -> Iterator[str]:
    """Write a script that ends with the first block that fails."""
    for block in blocks:
        place = results / str(block.line)
        yield f"exec >{place} 2>&1\n"
        if block.exit_code:
            yield f"set +e\n{block.commands}echo $? >{place}.code\n"
        else:
            yield f"set -e\n{block.commands}echo 0 >{place}.code\n"


def _differences(page: str, blocks: list[CommandBlock], results: Path) -> Iterator[str]:
    for block in blocks:
        code, output = results / f"{block.line}.code", results / str(block.line)
        given = output.read_text(errors="replace") if output.exists() else ""
        if not code.exists():
            yield f"{page}:{block.line} failed:\n{block.commands}--- output\n{given}"
            return
        if int(code.read_text()) != block.exit_code:
            yield f"{page}:{block.line} exits with {code.read_text().strip()}:\n{given}"
        if block.output is not None and not shows(block.output, given):
            yield f"{page}:{block.line} shows\n{block.output}--- but the output is\n{given}"


def shows(expected: str, output: str) -> bool:
    """Tell whether an output is the one that a page shows."""
    pattern = "".join(map(_line_pattern, expected.rstrip().splitlines()))
    lines = "".join(f"{line.rstrip()}\n" for line in output.rstrip().splitlines())
    return re.fullmatch(pattern, lines) is not None


def _line_pattern(line: str) -> str:
    if line.strip() == _STOP:
        return r"(?:[^\n]*\n)*?"
    return "[^\\n]*".join(map(re.escape, line.rstrip().split(_STOP))) + "\n"
