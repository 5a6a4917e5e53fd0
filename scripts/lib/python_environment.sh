# shellcheck shell=bash
# The virtual environment .venv at the project's root, exactly as a lock file says.
# Needs terminal.sh; `root` is the project's folder.
# shellcheck disable=SC2154

python=$root/.venv/bin/python

# Prints the interpreter to build with: Debian's own, as it is the fastest one measured.
find_python() {
    local candidate
    for candidate in /usr/bin/python3 python3; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# Prints the Debian packages that are missing to build the environment.
missing_python_packages() {
    local found
    found=$(find_python) || {
        echo python3 python3-venv
        return
    }
    [[ -x $python ]] || "$found" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
}

prepare_environment() { # LOCK_FILE LOG
    local lock_file=$1 log=$2 builder
    _environment_is_current "$lock_file" && return
    builder=$(find_python) || fail "Python 3.11 or later is needed, /usr/bin/python3 is not."
    # Two runs at once: the second waits, and then finds everything done.
    exec 8<"$root/requirements.lock"
    flock 8
    if ! _environment_is_current "$lock_file"; then
        step "Installing Python packages from ${lock_file##*/}" "$log" \
            _build_environment "$lock_file" "$builder"
    fi
    exec 8<&-
}

_stamp_of() { # LOCK_FILE
    printf '%s/.venv/.%s.installed' "$root" "${1##*/}"
}

_fingerprint() { # LOCK_FILE
    cat "$1" "$root/pyproject.toml" | sha256sum
}

_environment_is_current() { # LOCK_FILE
    local stamp
    stamp=$(_stamp_of "$1")
    [[ -x $python && -r $stamp ]] && "$python" -c '' 2>/dev/null &&
        [[ $(<"$stamp") == "$(_fingerprint "$1")" ]]
}

_build_environment() { # LOCK_FILE INTERPRETER
    local pip=("$python" -m pip --no-input --disable-pip-version-check install)
    unset PYTHONDONTWRITEBYTECODE
    umask 022 # whoever may read the project may run it
    "$python" -c '' 2>/dev/null || "$2" -m venv --clear "$root/.venv"
    "${pip[@]}" --require-hashes --requirement "$1"
    "${pip[@]}" --no-deps --no-build-isolation --editable "$root"
    _fingerprint "$1" >"$(_stamp_of "$1")"
}

# Compiled beforehand, so that no start has to; quick when nothing changed.
compile_program() {
    [[ -w $root/gateway ]] || return 0
    (umask 022 && exec env -u PYTHONDONTWRITEBYTECODE "$python" -m compileall -q "$root/gateway")
}
