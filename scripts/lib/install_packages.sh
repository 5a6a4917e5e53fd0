# shellcheck shell=bash
# Packages of Debian or Ubuntu that are missing, installed without starting any service of theirs.
# Needs terminal.sh.

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

os_release=/etc/os-release

# Debian 12 and Ubuntu 24.04 are the first with Python 3.11. Debian's testing has no number.
can_install_packages() {
    [[ -r $os_release ]] && command -v apt-get >/dev/null || return 1
    (
        # shellcheck disable=SC1090
        . "$os_release"
        case ${ID:-} in
            debian) ((${VERSION_ID:-12} >= 12)) ;;
            ubuntu) ((${VERSION_ID%%.*} >= 24)) ;;
            *) exit 1 ;;
        esac
    )
}

require_linux() {
    [[ $(uname -s) == Linux ]] || fail \
        "The scripts run on Debian 12 and 13 and Ubuntu 24.04; this is $(uname -s)." \
        "Use such a machine or container. What they need: Python 3.11 or later with venv," \
        "nginx 1.22 or later (http_v2, ssl), Redis 6 or Valkey 8 or later, bash 5 and util-linux."
}

# Installs the packages, or names them where that is not ours to do. "redis-server|valkey-server"
# is the first of them that the system has.
install_packages() { # LOG PACKAGE...
    local log=$1 names
    shift
    (($#)) || return 0
    names=${*//|/ or }
    if ! can_install_packages; then
        fail "Missing here: $names" \
            "Debian 12 and later and Ubuntu 24.04 and later are set up automatically. On another" \
            "system install these programs first; its packages may have other names."
    fi
    if ((EUID != 0)); then
        fail "Missing here: $names" \
            "Only root can install them: run this once as root, or have root run" \
            "apt-get update && apt-get install --no-install-recommends ${*//|*/}"
    fi
    step "Installing $names" "$log" _apt_install "$@"
}

_apt_install() {
    local policy=/usr/sbin/policy-rc.d
    # Broken off halfway, apt would leave the machine to be repaired by hand.
    trap '' TERM INT HUP
    # Packages ask this program whether they may start their service. An existing one is the
    # administrator's word and stays.
    if [[ ! -e $policy ]]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    export DEBIAN_FRONTEND=noninteractive APT_LISTCHANGES_FRONTEND=none NEEDRESTART_SUSPEND=1
    apt-get -q -o DPkg::Lock::Timeout=120 update
    local package found=()
    for package in "$@"; do
        found+=("$(_available_package "$package")")
    done
    apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=120 \
        -o Dpkg::Options::=--force-confold install "${found[@]}"
    if command -v systemctl >/dev/null; then
        # Nobody asked for them as services, so they do not come up at the next boot either.
        for package in "${found[@]}"; do
            case $package in
                nginx | redis-server | valkey-server | postgresql | haproxy | caddy)
                    systemctl disable "$package" || true
                    ;;
            esac
        done
    fi
}

# Prints the first of the names that the package lists have, the first one where they have none:
# apt-get says then what is missing.
_available_package() { # NAME[|NAME...]
    local name
    for name in ${1//|/ }; do
        if apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
            printf '%s' "$name"
            return
        fi
    done
    printf '%s' "${1%%|*}"
}
