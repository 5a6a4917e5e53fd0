"""Debian's Apache with mod_auth_openidc or mod_oauth2, as a test configures it, on a free port.

The program and its modules alone (packages apache2-bin, libapache2-mod-auth-openidc and
libapache2-mod-oauth2): no service, nothing of /etc/apache2.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.gateway_process import until
from tests.support.ports import ADDRESS

MODULES: Final = Path("/usr/lib/apache2/modules")
_LOADED: Final = (
    "mpm_event",
    "authn_core",
    "authz_core",
    "authz_user",
    "dir",
    "env",
    "include",
    "mime",
    "socache_shmcb",
    "ssl",
)
_SERVER: Final = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/error.log
LogLevel warn
StartServers 1
ServerLimit 1
ThreadsPerChild 8
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
DirectoryIndex index.shtml
TypesConfig /dev/null
AddType text/html .html .shtml
AddOutputFilter INCLUDES .shtml
SSLSessionCache none
<Directory {folder}/pages>
    Options +Includes
</Directory>
"""
_SITE: Final = """
Listen {address}:{port} https
<VirtualHost {address}:{port}>
    ServerName https://localhost:{port}
    DocumentRoot {folder}/pages
    SSLEngine on
    SSLCertificateFile {folder}/server.crt
    SSLCertificateKeyFile {folder}/server.key
{directives}
</VirtualHost>
"""


@contextmanager
def apache_folder(certificates: Path) -> Iterator[Path]:
    """Make a folder for Apache's files, with the server's certificate and the authorities.

    Apache does not serve as root: then it runs as `nobody`, who enters no folder of pytest.
    """
    with tempfile.TemporaryDirectory(prefix="realmgate-apache-") as made:
        folder = Path(made)
        (folder / "pages").mkdir()
        for name in ("server.crt", "server.key", "ca.crt"):
            shutil.copy(certificates / name, folder)
        yield folder


@contextmanager
def start_apache(
    folder: Path, sites: Mapping[int, str], pages: Mapping[str, str], module: str = "auth_openidc"
) -> Iterator[None]:
    """Run Apache with a site for each port, of these directives, until the end of the block.

    `module` is the one that is tested. `pages` are the texts by path, `.shtml` with server-side
    includes, of all sites.
    """
    for path, text in pages.items():
        file = folder / "pages" / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    (folder / "apache.conf").write_text(_configuration(folder, sites, module))
    user = hand_over(folder)
    binary = shutil.which("apache2", path=f"{os.defpath}:/usr/sbin")
    assert binary, "Apache is not installed: scripts/test installs it"
    output = folder / "output.log"
    with output.open("wb") as log:
        command = [binary, "-f", str(folder / "apache.conf"), "-D", "FOREGROUND"]
        apache = subprocess.Popen(command, stdout=log, stderr=log, user=user, group=user)
    try:
        # Apache listens before it has read its modules' configuration.
        started = (folder / "apache.pid").exists
        until(lambda: apache.poll() is not None or started(), "Apache did not start", 20)
        assert apache.poll() is None, "".join(each.read_text() for each in folder.glob("*.log"))
        yield
    finally:
        apache.terminate()
        apache.wait(20)


def _configuration(folder: Path, sites: Mapping[int, str], module: str) -> str:
    loaded = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in (*_LOADED, module)]
    rendered = [
        _SITE.format(address=ADDRESS, port=port, folder=folder, directives=directives)
        for port, directives in sites.items()
    ]
    return "\n".join([*loaded, _SERVER.format(folder=folder), *rendered])


def hand_over(folder: Path) -> int | None:
    """Give the files to the user that Apache runs as; None: whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    user = pwd.getpwnam("nobody").pw_uid
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)
    return user
