# shellcheck shell=bash
# Debian packages that are missing, installed without starting any service of theirs.
# Needs terminal.sh.

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

is_debian_12_or_later() {
    [[ -r /etc/os-release ]] || return 1
    (
        # shellcheck disable=SC1091
        . /etc/os-release
        [[ ${ID:-} == debian && ${VERSION_ID:-12} -ge 12 ]]
    )
}

require_linux() {
    [[ $(uname -s) == Linux ]] || fail \
        "The scripts run on Debian 12; this is $(uname -s)." \
        "Use a Debian 12 machine or container. What they need: Python 3.11 or later with venv," \
        "nginx 1.22 or later (http_v2, ssl), redis-server 6 or later, bash 5 and util-linux."
}

# Installs the packages, or names them where that is not ours to do.
install_packages() { # LOG PACKAGE...
    local log=$1
    shift
    (($#)) || return 0
    if ! is_debian_12_or_later; then
        fail "Missing here: $*" \
            "Only Debian 12 is set up automatically. On Ubuntu 24.04 or later run this first:" \
            "sudo apt-get update && sudo apt-get install --no-install-recommends $*"
    fi
    if ((EUID != 0)); then
        fail "Missing here: $*" \
            "Only root can install them: run this once as root, or have root run" \
            "apt-get update && apt-get install --no-install-recommends $*"
    fi
    step "Installing $* from Debian" "$log" _apt_install "$@"
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
    apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=120 \
        -o Dpkg::Options::=--force-confold install "$@"
    if command -v systemctl >/dev/null; then
        # Nobody asked for them as services, so they do not come up at the next boot either.
        local package
        for package in "$@"; do
            case $package in
                nginx | redis-server | postgresql | haproxy | caddy) systemctl disable "$package" || true ;;
            esac
        done
    fi
}
