"""Dockerfile and docker-compose.yml: valid, confined, and in step with the settings."""

import re
import shutil
import subprocess
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.settings import SETTING_NAMES, file_variable, load_settings, variable

_ROOT = Path(__file__).parents[2]
_COMPOSE: dict[str, Any] = yaml.safe_load((_ROOT / "docker-compose.yml").read_text())
_SERVICES: dict[str, dict[str, Any]] = _COMPOSE["services"]
_GATEWAYS = ("gateway-1", "gateway-2")
_JOBS = ("setup", "nginx-configuration")
_DOCKERFILE = (_ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
_PINNED = re.compile(r"[a-z/-]+:[0-9]+\.?[0-9.]*(-[a-z-]+)?")

every_service = pytest.mark.parametrize("name", _SERVICES)


def _names(value: Any) -> set[str]:
    """Return the names in a list or in the keys of a mapping."""
    return {str(item) for item in value or ()}


def _instructions(keyword: str) -> list[str]:
    prefix = f"{keyword} "
    return [line.removeprefix(prefix) for line in _DOCKERFILE if line.startswith(prefix)]


def _sources() -> list[str]:
    """Return what the Dockerfile copies from the repository."""
    copied = [line.split() for line in _instructions("COPY") if not line.startswith("--from")]
    return [source for words in copied for source in words[:-1]]


def test_the_services_are_those_of_a_whole_installation() -> None:
    assert {*_SERVICES} == {*_GATEWAYS, *_JOBS, "nginx", "redis", "postgres"}


@every_service
def test_a_service_refers_to_what_is_defined(name: str) -> None:
    service = _SERVICES[name]
    named = {str(volume).partition(":")[0] for volume in service.get("volumes", ())}
    assert named <= {*_COMPOSE["volumes"]}, "nothing has to exist on the host"
    assert _names(service.get("networks")) <= {*_COMPOSE["networks"]}
    assert _names(service.get("depends_on")) <= {*_SERVICES}


@every_service
def test_a_service_mounts_only_the_secrets_that_it_reads(name: str) -> None:
    service = _SERVICES[name]
    mounted = {volume for volume in _volumes(name) if volume.startswith("secrets-")}
    text = "\n".join(map(str, _settings_of(service)))
    read = set(re.findall(r"/srv/secrets/(\w+)/", text))
    if name != "setup":
        assert {f"secrets-{folder}" for folder in read} == mounted
        assert all(
            str(volume).endswith(":ro") for volume in service["volumes"] if "secrets" in volume
        )


def test_no_other_service_sees_the_keys_of_the_authorities() -> None:
    assert [name for name in _SERVICES if "pki" in _volumes(name)] == ["setup"]


@pytest.mark.parametrize("name", sorted(set(_SERVICES) - {"setup"}))
def test_a_service_waits_for_its_secrets_and_certificates(name: str) -> None:
    if name != "nginx":
        condition = _SERVICES[name]["depends_on"]["setup"]["condition"]
        assert condition == "service_completed_successfully"


@every_service
def test_a_service_is_confined(name: str) -> None:
    service = _SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices"} & {*service}
    assert _PINNED.fullmatch(service["image"]), "an image without a version changes by itself"


@pytest.mark.parametrize("name", sorted(set(_SERVICES) - set(_JOBS)))
def test_a_service_tells_whether_it_is_well(name: str) -> None:
    assert _SERVICES[name]["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert _SERVICES[name]["restart"] == "unless-stopped"


def test_only_nginx_can_be_reached_from_outside() -> None:
    assert [name for name, service in _SERVICES.items() if "ports" in service] == ["nginx"]
    outside = [
        n for n, service in _SERVICES.items() if "outside" in _names(service.get("networks"))
    ]
    assert outside == ["nginx"]
    assert _COMPOSE["networks"]["inside"]["internal"] is True


@pytest.mark.parametrize("name", _GATEWAYS)
def test_gateways_trust_the_address_and_secret_of_nginx_only(name: str) -> None:
    environment = _SERVICES[name]["environment"]
    assert environment["REALMGATE_TRUSTED_PROXIES"] == _inside_address("nginx")
    assert "REALMGATE_PROXY_SECRET_FILE" in environment


@pytest.mark.parametrize("name", _GATEWAYS)
def test_the_settings_of_a_gateway_are_known_and_accepted(name: str, tmp_path: Path) -> None:
    """Read by the program itself, each secret from a file as in the container."""
    environment = dict(_SERVICES[name]["environment"])
    known = {variable(field) for field in SETTING_NAMES}
    known |= {found for field in SETTING_NAMES if (found := file_variable(field))}
    assert {*environment} <= known
    content = {
        "REALMGATE_PROXY_SECRET_FILE": "a-secret-of-the-proxy",
        "REALMGATE_DATABASE_URL_FILE": "postgresql://realmgate:word@postgres/realmgate",
        "REALMGATE_REDIS_URL_FILE": "redis://realmgate:word@redis",
    }
    for variable_name in [key for key in environment if key.endswith("_FILE")]:
        file = tmp_path / variable_name
        file.write_text(content.get(variable_name, "anything"))
        environment[variable_name] = str(file)
    settings = load_settings(environment=environment, env_file=tmp_path / "none")
    assert str(settings.listen) == "0.0.0.0:8081"


def test_nginx_is_pointed_at_every_gateway() -> None:
    (script,) = _SERVICES["nginx-configuration"]["command"]
    port = _SERVICES["gateway-1"]["environment"]["REALMGATE_LISTEN"].rpartition(":")[2]
    assert re.findall(r"--upstream (\S+)", script) == [
        f"{_inside_address(name)}:{port}" for name in _GATEWAYS
    ], "nginx neither starts nor reloads while one of its names cannot be resolved"


def test_fixed_addresses_are_never_given_to_another_container() -> None:
    (pool,) = _COMPOSE["networks"]["inside"]["ipam"]["config"]
    fixed = [ip_address(_inside_address(name)) for name in (*_GATEWAYS, "nginx")]
    assert len({*fixed}) == len(fixed)
    assert all(address in ip_network(pool["subnet"]) for address in fixed)
    assert not [address for address in fixed if address in ip_network(pool["ip_range"])]


def test_one_service_builds_the_image_that_others_use() -> None:
    built = [name for name, service in _SERVICES.items() if "build" in service]
    assert built == ["setup"]
    image = _SERVICES["setup"]["image"]
    users = [name for name, service in _SERVICES.items() if service["image"] == image]
    assert {*users} == {*_GATEWAYS, *_JOBS}
    assert {_SERVICES[name]["pull_policy"] for name in users} == {"never"}


@pytest.mark.parametrize("name", [*_GATEWAYS, *_JOBS])
def test_a_service_leaves_no_unnamed_volume_behind(name: str) -> None:
    """The image declares a volume; a container that mounts nothing there gets one of its own."""
    (declared,) = _instructions("VOLUME")
    mounts = [*_SERVICES[name]["volumes"], *_SERVICES[name]["tmpfs"]]
    assert declared in {part for mount in mounts for part in str(mount).split(":")[:2]}


@every_service
def test_certificates_are_mounted_as_a_folder(name: str) -> None:
    """A single file that is mounted stays what it was when it is replaced by rename."""
    for volume in _SERVICES[name].get("volumes", ()):
        source, target = str(volume).split(":")[:2]
        assert (source == "certs") == (target == "/srv/certs")


def test_gateways_read_authorities_and_lists_from_the_mount() -> None:
    for name in _GATEWAYS:
        environment = _SERVICES[name]["environment"]
        for file in ("CLIENT_CA_FILE", "CLIENT_CRL_FILE"):
            assert environment[f"REALMGATE_{file}"].startswith("/srv/certs/")


def test_redis_keeps_what_it_is_given_and_evicts_nothing() -> None:
    command = " ".join(_SERVICES["redis"]["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command


def test_no_secret_stands_in_the_files() -> None:
    texts = [str(value) for service in _SERVICES.values() for value in _settings_of(service)]
    assert [text for text in texts if "://" in text and "@" in text] == []


def _inside_address(name: str) -> str:
    return str(_SERVICES[name]["networks"]["inside"]["ipv4_address"])


def _volumes(name: str) -> set[str]:
    return {str(volume).partition(":")[0] for volume in _SERVICES[name].get("volumes", ())}


def _settings_of(service: dict[str, Any]) -> list[Any]:
    return [*service.get("environment", {}).values(), *service.get("command", ())]


def test_the_image_is_pinned_unprivileged_and_installs_by_hash() -> None:
    assert {line.split()[0] for line in _instructions("FROM")} == {"python:3.11-slim-bookworm"}
    assert _instructions("USER") == ["10001:10001"]
    (install,) = [line for line in _instructions("RUN") if "pip install" in line]
    assert "--require-hashes" in install
    assert "requirements.lock" in install


def test_the_image_gets_nothing_but_what_it_needs() -> None:
    allowed = {
        line.removeprefix("!")
        for line in (_ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert allowed == set(_sources())
    assert all((_ROOT / source).exists() for source in _sources())


def test_what_is_copied_into_the_image_is_enough_to_run(tmp_path: Path) -> None:
    """Run the compose file's own command that renders nginx's files, from the copied parts."""
    program, volumes = _copied_program(tmp_path), tmp_path / "srv"
    (volumes / "secrets/proxy").mkdir(parents=True)
    (volumes / "secrets/proxy/proxy.secret").write_text("a-secret-of-the-proxy")
    (script,) = _SERVICES["nginx-configuration"]["command"]
    _run(script, program, volumes)
    state = volumes / "state"
    rendered = (state / "nginx" / "realmgate" / "site" / "upstream.conf").read_text()
    assert f"{_inside_address('gateway-2')}:8081" in rendered
    assert (state / "logs" / "access.log").is_symlink()


def test_setup_creates_what_the_other_services_read_and_keeps_it(tmp_path: Path) -> None:
    """Run the compose file's own script three times: at first, again, and to revoke."""
    program, volumes = _copied_program(tmp_path), tmp_path / "srv"
    for folder in ("pki", "certs", *(f"secrets/{name[8:]}" for name in _volumes("setup"))):
        (volumes / folder).mkdir(parents=True, exist_ok=True)
    shell, options, script, name = _SERVICES["setup"]["entrypoint"]
    assert (shell, options, name) == ("sh", "-ec", "setup")
    _run(script, program, volumes)
    made = _contents(volumes)
    _run(script, program, volumes)
    assert _contents(volumes) == made
    _run(script, program, volumes, "certs", "revoke", "device-1")
    changed = {file for file, content in _contents(volumes).items() if made.get(file) != content}
    assert "certs/ca.crl" in changed
    assert not {file for file in changed if file.startswith("secrets/")}
    assert {file for file in made if file.startswith("certs/")} == {
        f"certs/{file}" for file in ("ca.crt", "ca.crl", "root.crt", "server.crt", "server.key")
    }
    read = {path for name in _GATEWAYS for path in _SERVICES[name]["environment"].values()}
    for path in [path for path in read if path.startswith("/srv/")]:
        assert (volumes / path.removeprefix("/srv/")).stat().st_size > 0
    password = (volumes / "secrets/postgres/database.password").read_text()
    assert f":{password}@postgres" in (volumes / "secrets/gateway/database.url").read_text()
    assert (volumes / "secrets/gateway/encryption.key").stat().st_mode & 0o777 == 0o600


def _copied_program(tmp_path: Path) -> Path:
    """Return a folder with what the Dockerfile copies from the repository."""
    program = tmp_path / "program"
    program.mkdir()
    for source in _sources():
        copy = shutil.copytree if (_ROOT / source).is_dir() else shutil.copy
        copy(_ROOT / source, program / source)
    return program


def _run(script: str, program: Path, volumes: Path, *arguments: str) -> None:
    """Run a script of the compose file with `volumes` in the place of /srv."""
    script = script.replace("$$", "$").replace("/srv/", f"{volumes}/")
    script = script.replace("python -m", f"{sys.executable} -m")
    subprocess.run(["sh", "-ec", script, "setup", *arguments], cwd=program, check=True)


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }
