"""Systems, packages and interpreters that the scripts choose: scripts/lib."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("terminal", "install_packages", "python_environment", "development")


def bash(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run lines of bash that use the libraries of the scripts."""
    sources = "".join(f"source scripts/lib/{name}.sh\n" for name in LIBRARIES)
    return subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", f"root=$PWD\n{sources}{script}"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def program(file: Path, script: str) -> Path:
    """Make a program that stands for one of another system."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


SYSTEMS = {
    "ID=debian\nVERSION_ID=11": False,
    'ID=debian\nVERSION_ID="12"': True,
    'ID=debian\nVERSION_ID="13"': True,
    "ID=debian\nVERSION_CODENAME=forky": True,
    'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"': False,
    'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"': True,
    'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="26.04"': True,
    'ID="rocky"\nID_LIKE="rhel"\nVERSION_ID="9.5"': False,
    "ID=arch": False,
    "": False,
}


def test_packages_are_installed_on_debian_and_ubuntu_alone(tmp_path: Path) -> None:
    program(tmp_path / "bin/apt-get", "exit 1")
    for system, installs in SYSTEMS.items():
        (tmp_path / "os-release").write_text(system)
        done = bash(
            f"os_release={tmp_path}/os-release; can_install_packages",
            PATH=f"{tmp_path}/bin:{os.environ['PATH']}",
        )
        assert (done.returncode == 0, done.stderr) == (installs, ""), system


def test_another_system_is_told_the_missing_programs(tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text("ID=arch")
    done = bash(
        f"os_release={tmp_path}/os-release\n"
        f"install_packages {tmp_path}/log nginx 'redis-server|valkey-server'"
    )
    assert done.returncode == 1
    assert "Missing here: nginx redis-server or valkey-server" in done.stderr


@pytest.mark.parametrize(
    ("known", "installed"),
    [
        ("redis-server valkey-server", "redis-server"),
        ("valkey-server", "valkey-server"),
        ("nothing", "redis-server"),
    ],
)
def test_the_first_package_that_the_system_has_is_taken(
    tmp_path: Path, known: str, installed: str
) -> None:
    program(
        tmp_path / "apt-cache",
        f'for name in {known}; do [ "$name" != "$3" ] || exit 0; done; exit 100',
    )
    done = bash(
        "_available_package 'redis-server|valkey-server'",
        PATH=f"{tmp_path}:{os.environ['PATH']}",
    )
    assert done.stdout == installed


def interpreter(file: Path, version: str) -> Path:
    """Make an interpreter that prints what list_interpreters asks for."""
    return program(file, f"echo {version} {file}")


@pytest.fixture
def versions(tmp_path: Path) -> dict[str, str]:
    """Return an environment with interpreters in the folders of pyenv and uv."""
    for version in ("3.12.1", "3.13.0"):
        name = f"versions/{version}/bin/python{version.rpartition('.')[0]}"
        interpreter(tmp_path / "pyenv" / name, version)
    interpreter(tmp_path / "uv/cpython-3.13.11/bin/python3.13", "3.13.11")
    interpreter(tmp_path / "uv/cpython-3.97.2/bin/python3.97", "3.97.2")
    program(tmp_path / "uv/cpython-3.98.0/bin/python3.98", "exit 1")  # without venv
    return {"PYENV_ROOT": str(tmp_path / "pyenv"), "UV_PYTHON_INSTALL_DIR": str(tmp_path / "uv")}


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        ("3.12", "3.12.1"),
        ("3.13", "3.13.11"),
        ("3.13.0", "3.13.0"),
        ("3.97", "3.97.2"),
        ("3.98", ""),
        ("3.9", ""),
        ("3.1", ""),
    ],
)
def test_the_newest_interpreter_of_a_version_is_chosen(
    versions: dict[str, str], asked: str, version: str
) -> None:
    done = bash(
        f'choose_python {asked} && printf %s "$chosen_interpreter $environment"', **versions
    )
    assert done.stderr == ""
    if not version:
        assert (done.returncode, done.stdout) == (1, "")
        return
    chosen, environment = done.stdout.split()
    assert f"/{version}/" in chosen.replace("cpython-", "")
    assert environment == f"{ROOT}/.venv-{version.rpartition('.')[0]}"


def test_newest_is_one_that_the_project_names(versions: dict[str, str]) -> None:
    """A version of tomorrow has no wheels yet: it is tested where its version is given."""
    done = bash('choose_python newest && printf %s "$environment"', **versions)
    named = "Programming Language :: Python :: 3.97"
    assert named not in (ROOT / "pyproject.toml").read_text()
    assert done.stdout.startswith(f"{ROOT}/.venv-3.")
    assert not done.stdout.endswith("3.97")


def test_an_environment_of_another_interpreter_is_outdated(tmp_path: Path) -> None:
    """An upgrade of Debian puts another Python behind the same path."""
    python = tmp_path / ".venv/bin/python"
    lock = tmp_path / "requirements.lock"
    lock.write_text("")
    (tmp_path / "pyproject.toml").write_text("")
    script = (
        f"root={tmp_path}; environment=$root/.venv; python={python}\n"
        f"_environment_is_current {lock} && echo current || echo outdated\n"
        f"_fingerprint {lock} >$(_stamp_of {lock})"
    )
    found = []
    for version in ("3.11.2", "3.11.2", "3.13.5", "3.13.5"):
        program(python, f'[ "$1" != --version ] || echo Python {version}')
        found.append(bash(script).stdout.strip())
    assert found == ["outdated", "current", "outdated", "current"]
