# shellcheck shell=bash
# The programs of others that tests/clients and tests/relying_parties run: Ansible and node in
# .venv-clients, as their lock says, and the npm packages beside the tests.
# Needs terminal.sh, install_packages.sh and python_environment.sh; `root` is the project's folder.
# shellcheck disable=SC2154

clients=$root/.venv-clients
npm_clients=$root/tests/clients/npm

prepare_client_programs() {
    local log=$root/var/logs/install.log builder
    _client_programs_are_current && return
    builder=$(find_python) || fail "Python 3.11 or later is needed, /usr/bin/python3 is not."
    "$builder" -c 'import ensurepip, venv' 2>/dev/null || install_packages "$log" python3-venv
    # Two runs at once: the second waits, and then finds everything done.
    exec 8<"$root/requirements-clients.lock"
    flock 8
    if ! _client_programs_are_current; then
        step "Installing Ansible, node and npm packages" "$log" _install_client_programs "$builder"
    fi
    exec 8<&-
}

_client_programs_fingerprint() {
    cat "$root/requirements-clients.lock" "$npm_clients/package-lock.json" | sha256sum
}

_client_programs_are_current() {
    [[ -r $clients/.installed && -d $npm_clients/node_modules ]] &&
        "$clients/bin/python" -c '' 2>/dev/null &&
        [[ $(<"$clients/.installed") == "$(_client_programs_fingerprint)" ]]
}

_install_client_programs() { # INTERPRETER
    umask 022
    rm -f "$clients/.installed"
    "$clients/bin/python" -c '' 2>/dev/null || "$1" -m venv --clear "$clients"
    # Ansible is 30,000 files, of which the tests use a few hundred: those are compiled when used.
    "$clients/bin/python" -m pip --no-input --disable-pip-version-check install --no-compile \
        --require-hashes --requirement "$root/requirements-clients.lock"
    # Whom the machine trusts, npm is to trust.
    NODE_USE_SYSTEM_CA=1 "$clients/bin/npm" --prefix "$npm_clients" ci
    _client_programs_fingerprint >"$clients/.installed"
}
