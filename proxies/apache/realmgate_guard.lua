-- Asks Realmgate whether a request may pass: LuaHookAccessChecker of mod_lua. Needs luasocket.
-- An error of this script is a 500 of Apache: nothing passes.

require("socket")
local unix = require("socket.unix")

local GATEWAY = os.getenv("REALMGATE_GATEWAY") or "/run/realmgate/gateway.sock"
local SECRET = os.getenv("REALMGATE_PROXY_SECRET") or ""
local TIMEOUT_SECONDS = 5
local LONGEST_BODY = 1024 * 1024
local MOST_HEADERS = 100
local IDENTITY_HEADERS = {
    "Remote-User", "Remote-Email", "Remote-Groups", "Remote-Roles", "X-Realmgate-Realm",
    "X-Realmgate-Subject", "X-Realmgate-Client", "X-Realmgate-Certificate",
    "X-Realmgate-Credential", "X-Realmgate-Token",
}
-- Prefixes of headers that only Apache and the gateway may set, `-` for every other character.
local RESERVED = {
    "remote-", "x-realmgate-", "forwarded", "x-forwarded-", "x-original-", "x-rewrite-", "x-real-",
    "x-client-", "x-ssl-", "client-cert", "ssl-client-", "x-request-id",
}
-- Of the connection and of the body: the question has neither.
local NOT_ASKED = {
    ["connection"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true,
    ["keep-alive"] = true, ["proxy-connection"] = true, ["te"] = true, ["trailer"] = true,
    ["transfer-encoding"] = true, ["upgrade"] = true,
}
local NOT_RETURNED = {
    ["connection"] = true, ["content-length"] = true, ["keep-alive"] = true,
    ["transfer-encoding"] = true, ["content-type"] = true,
}
-- mod_proxy adds these by itself, after those that are there.
local ADDED_BY_PROXY = { ["X-Forwarded-For"] = true, ["X-Forwarded-Host"] = true }
local REFUSALS = { [302] = true, [401] = true, [403] = true }

local function is_reserved(name)
    local plain = name:lower():gsub("[^a-z0-9]", "-")
    for _, beginning in ipairs(RESERVED) do
        if plain:sub(1, #beginning) == beginning then
            return true
        end
    end
    return false
end

local function remove_reserved(r)
    for name in pairs(r:headers_in_table()) do
        if is_reserved(name) then
            r.headers_in[name] = nil
        end
    end
end

-- A header that a caller names in Connection would be lost behind us, also one of the gateway.
local function remove_named(r)
    local connection = (r.headers_in["Connection"] or ""):lower()
    r.headers_in["Connection"] = connection:find("close", 1, true) and "close" or nil
end

-- Whether the connection is for another host than the site: the host of a request has to agree.
local function is_misdirected(r)
    local asked = r.is_https and r:ssl_var_lookup("SSL_TLS_SNI") or ""
    return asked ~= "" and asked:lower() ~= r.subprocess_env["REALMGATE_SITE"]:gsub(":%d+$", "")
end

local function escaped(text)
    return (text:gsub("[^%w]", function(character)
        return string.format("%%%02X", character:byte())
    end))
end

-- What Apache found out about the caller, and the proof that it comes from here.
local function evidence(r)
    local found = {
        ["X-Realmgate-Proxy-Secret"] = SECRET,
        ["X-Realmgate-Server"] = r.subprocess_env["REALMGATE_SITE"],
        ["X-Forwarded-For"] = r.useragent_ip,
        ["X-Forwarded-Proto"] = r.is_https and "https" or "http",
        ["X-Forwarded-Host"] = r.headers_in["Host"],
    }
    local certificate = r.is_https and r:ssl_var_lookup("SSL_CLIENT_CERT") or ""
    if certificate ~= "" then
        found["ssl-client-cert"] = escaped(certificate)
        found["ssl-client-verify"] = r:ssl_var_lookup("SSL_CLIENT_VERIFY")
    end
    return found
end

-- The session of the browser is for the gateway: a service that had it could use other services.
local function without_session(cookies)
    local kept = {}
    for cookie in (cookies or ""):gmatch("[^;]+") do
        if not cookie:match("^%s*__%a+%-realmgate%-session=") then
            table.insert(kept, (cookie:gsub("^%s+", "")))
        end
    end
    return #kept > 0 and table.concat(kept, "; ") or nil
end

local function question(r, headers)
    local lines = { "GET /.realmgate/guard/apache HTTP/1.1", "Host: realmgate", "Connection: close" }
    for name, value in pairs(r:headers_in_table()) do
        if not NOT_ASKED[name:lower()] then
            table.insert(lines, name .. ": " .. value)
        end
    end
    for name, value in pairs(headers) do
        table.insert(lines, name .. ": " .. value)
    end
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- Returns status, headers by lower-case name, and body; nil where there is no whole answer.
local function answer(connection)
    local line = connection:receive("*l")
    local status = line and line:match("^HTTP/1%.1 (%d%d%d) ")
    local headers = {}
    for _ = 1, MOST_HEADERS do
        line = status and connection:receive("*l")
        local name, value = (line or ""):match("^([^:]+): *(.*)$")
        if not name then
            break
        end
        headers[name:lower()] = value
    end
    local length = tonumber(headers["content-length"])
    if line ~= "" or not length or length > LONGEST_BODY then
        return nil
    end
    local body = length == 0 and "" or connection:receive(length)
    if not body then
        return nil
    end
    return tonumber(status), headers, body
end

local function ask(text)
    local connection = unix.stream and unix.stream() or unix()
    connection:settimeout(TIMEOUT_SECONDS)
    connection:settimeout(TIMEOUT_SECONDS, "t")
    local status, headers, body
    if connection:connect(GATEWAY) and connection:send(text) then
        status, headers, body = answer(connection)
    end
    connection:close()
    return status, headers, body
end

local function refuse(r, status, headers, body)
    r.status = status
    for name, value in pairs(headers) do
        if not NOT_RETURNED[name] then
            r.headers_out[name] = value
        end
    end
    r.content_type = headers["content-type"] or "text/plain"
    r:write(body)
    return apache2.DONE
end

function guard(r)
    remove_reserved(r)
    remove_named(r)
    if is_misdirected(r) then
        return 421
    end
    if r.uri:sub(1, 17) == "/.realmgate/guard" then
        return 404
    end
    local headers = evidence(r)
    if r.uri:sub(1, 12) == "/.realmgate/" then
        for name, value in pairs(headers) do
            if not ADDED_BY_PROXY[name] then
                r.headers_in[name] = value
            end
        end
        return apache2.OK
    end
    headers["X-Forwarded-Method"], headers["X-Forwarded-Uri"] = r.the_request:match("^(%S+) (%S+)")
    local status, received, body = ask(question(r, headers))
    if status == 200 then
        for _, name in ipairs(IDENTITY_HEADERS) do
            r.headers_in[name] = received[name:lower()]
        end
        if received["x-realmgate-authorization"] then
            r.headers_in["Authorization"] = nil
        end
        r.headers_in["X-Forwarded-Proto"] = headers["X-Forwarded-Proto"]
        r.headers_in["Cookie"] = without_session(r.headers_in["Cookie"])
        return apache2.OK
    end
    if REFUSALS[status] then
        return refuse(r, status, received, body)
    end
    return refuse(r, 503, { ["retry-after"] = "2", ["cache-control"] = "no-store" }, "")
end
