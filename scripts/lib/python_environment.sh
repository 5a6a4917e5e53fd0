# shellcheck shell=bash
# The virtual environment .venv at the project's root, exactly as a lock file says; .venv-3.13 for
# Python 3.13 where `choose_python 3.13` was called before.
# Needs terminal.sh; `root` is the project's folder.
# shellcheck disable=SC2154

environment=$root/.venv
python=$environment/bin/python
chosen_interpreter=

# Prints the interpreter to build with: Debian's own, as it is the fastest one measured.
find_python() {
    local candidate
    if [[ -n $chosen_interpreter ]]; then
        printf '%s' "$chosen_interpreter"
        return
    fi
    for candidate in /usr/bin/python3 python3; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# Prints "3.13.5 PATH" of every interpreter from 3.11 on, the newest last: those of /opt, uv, pyenv,
# /usr/local/bin and /usr/bin. Of two of one version that of /usr/bin is the last one.
list_interpreters() {
    local candidate
    for candidate in \
        /opt/*/bin/python3.[0-9]* \
        "${UV_PYTHON_INSTALL_DIR:-${HOME-}/.local/share/uv/python}"/*/bin/python3.[0-9]* \
        "${PYENV_ROOT:-${HOME-}/.pyenv}"/versions/*/bin/python3.[0-9]* \
        /usr/local/bin/python3.[0-9]* /usr/bin/python3.[0-9]*; do
        [[ -x $candidate && $candidate =~ /python3\.[0-9]+$ ]] || continue
        # Without these modules no environment can be built. A release alone, no alpha or beta.
        "$candidate" -c '
import ensurepip, platform, sys, venv
if sys.version_info >= (3, 11) and sys.version_info.releaselevel == "final":
    print(platform.python_version(), sys.executable)' 2>/dev/null || true
    done | sort --version-sort --key=1,1 --stable
}

# Chooses an interpreter, and an environment of its own for it: VERSION is 3.13, 3.13.5, or `newest`
# for the newest one that pyproject.toml names and that is not Debian's. Fails where none is here.
choose_python() { # VERSION
    local debian version interpreter found=
    debian=$("$(find_python)" --version) || true
    debian=${debian#* }
    while read -r version interpreter; do
        if [[ $1 == newest ]]; then
            [[ ${version%.*} != "${debian%.*}" ]] || continue
            grep -qF "Python :: ${version%.*}\"" "$root/pyproject.toml" || continue
        else
            [[ $version == "$1" || $version == "$1".* ]] || continue
        fi
        found=$version chosen_interpreter=$interpreter
    done < <(list_interpreters)
    [[ -n $found ]] || return 1
    environment=$root/.venv-${found%.*}
    python=$environment/bin/python
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
    printf '%s/.%s.installed' "$environment" "${1##*/}"
}

# With the version of the interpreter: an upgrade of Debian brings another one to the same path, and
# it finds none of the installed packages.
_fingerprint() { # LOCK_FILE
    { "$python" --version && cat "$1" "$root/pyproject.toml"; } | sha256sum
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
    # Tests alone run in an environment for another Python: what they use is compiled when used.
    [[ -z $chosen_interpreter ]] || pip+=(--no-compile)
    # Each failure is looked at: errexit does not hold in a function that `if` calls.
    "$python" -c 'import pip' 2>/dev/null || "$2" -m venv --clear "$environment" || return
    "${pip[@]}" --require-hashes --requirement "$1" || return
    "${pip[@]}" --no-deps --no-build-isolation --editable "$root" || return
    _fingerprint "$1" >"$(_stamp_of "$1")"
}

# Compiled beforehand, so that no start has to; quick when nothing changed.
compile_program() {
    [[ -w $root/gateway ]] || return 0
    (umask 022 && exec env -u PYTHONDONTWRITEBYTECODE "$python" -m compileall -q "$root/gateway")
}
