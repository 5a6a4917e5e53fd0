# shellcheck shell=bash
# run.env: what a shell, and a client, need to know of a running copy.
# Needs the names of scripts/run.
# shellcheck disable=SC2154

write_run_env() {
    local names=(URL MTLS_URL SELF_SIGNED_URL MANAGEMENT_URL CA CLIENT_CERT CLIENT_KEY REALM)
    local values=(
        "$public_url" "$mtls_url" "https://localhost:$self_signed_port"
        "http://127.0.0.1:$management_port" "$state/certs/root.crt" "$state/certs/device-1.crt"
        "$state/certs/device-1.key" "$realm"
    )
    names+=(CLIENT_ID ADMIN ADMIN_PASSWORD HTTPS_PORT MTLS_PORT SELF_SIGNED_PORT HTTP_PORT)
    values+=(
        "$client_id" "$admin" "$(<"$state/secrets/admin.password")"
        "$https_port" "$mtls_port" "$self_signed_port" "$http_port"
    )
    names+=(MANAGEMENT_PORT DEMO_PORT SITE_URL)
    values+=("$management_port" "$demo_port" "$site_url")
    local index name
    {
        for index in "${!names[@]}"; do
            printf 'REALMGATE_%s=%q\n' "${names[index]}" "${values[index]}"
        done
        # The gateway's own settings, for the commands that speak of this gateway.
        for name in STATE_DIR LISTEN PUBLIC_URL MTLS_PUBLIC_URL CLIENT_CA_FILE CLIENT_CRL_FILE \
            PROXY_SECRET_FILE; do
            name=REALMGATE_$name
            printf '%s=%q\n' "$name" "${!name}"
        done
    } >"$state/run.env.new"
    mv "$state/run.env.new" "$state/run.env"
}

# In a shell that has sourced the run.env of another copy, its addresses, files and password stand
# in the environment as if somebody had chosen them for this one.
forget_other_copy() {
    local other=${REALMGATE_CA-}
    other=${other%/certs/root.crt}
    [[ -n $other && $other != "$state" ]] || return 0
    _forget PUBLIC_URL "${REALMGATE_URL-}"
    _forget MTLS_PUBLIC_URL "${REALMGATE_MTLS_URL-}"
    _forget CLIENT_CA_FILE "$other/certs/ca.crt"
    _forget CLIENT_CRL_FILE "$other/certs/ca.crl"
    { _forget ADMIN_PASSWORD "$(<"$other/secrets/admin.password")"; } 2>/dev/null || true
}

_forget() { # NAME VALUE_OF_THE_OTHER
    local name=REALMGATE_$1
    [[ ${!name-} != "$2" ]] || unset "$name"
}
