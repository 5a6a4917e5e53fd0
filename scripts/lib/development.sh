# shellcheck shell=bash
# What checks and tests need beside the program itself.
# Needs terminal.sh, install_packages.sh and python_environment.sh.
# shellcheck disable=SC2154

# Installs the Debian packages of the named programs where they are missing, and the environment.
prepare_development() { # PROGRAM...
    local log=$root/var/logs/install.log missing program
    (umask 077 && mkdir -p "${log%/*}")
    read -ra missing <<<"$(missing_python_packages)"
    for program in "$@"; do
        _is_installed "$program" || missing+=("$(_package_of "$program")")
    done
    install_packages "$log" ${missing[@]+"${missing[@]}"}
    prepare_environment "$root/requirements-dev.lock" "$log"
    prepare_environment "$root/requirements-docs.lock" "$log"
}

_is_installed() { # PROGRAM
    # Debian keeps PostgreSQL's programs outside of PATH.
    [[ $1 == initdb ]] && compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && return
    [[ $1 == redis-server ]] && command -v valkey-server >/dev/null && return
    # A module of Apache is no program.
    [[ $1 == mod_* ]] && {
        [[ -e /usr/lib/apache2/modules/$1.so ]]
        return
    }
    # Neither is one of Lua.
    [[ $1 == lua-socket ]] && {
        compgen -G '/usr/lib/*/lua/5.3/socket/unix.so' >/dev/null
        return
    }
    command -v "$1" >/dev/null
}

_package_of() { # PROGRAM
    case $1 in
        initdb) echo postgresql ;;
        redis-server) echo 'redis-server|valkey-server' ;;
        # The program and its modules alone: the package apache2 is the service on port 80.
        apache2) echo apache2-bin ;;
        mod_*) echo "libapache2-${1//_/-}" ;;
        *) echo "$1" ;;
    esac
}
