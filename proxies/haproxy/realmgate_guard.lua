-- Asks Realmgate whether a request may pass: `http-request lua.realmgate-guard`.
-- Only a request that may pass gets the variable txn.realmgate_decision, so haproxy.cfg refuses every
-- other one, also where this script fails. What the gateway answers to a refused caller is returned.

local GATEWAY = os.getenv("REALMGATE_GATEWAY")
-- HAProxy asks again three times where no answer comes, so a caller waits for 5 s at most.
local TIMEOUT_MS = 1250
local IDENTITY_HEADERS = {
    "remote-user", "remote-email", "remote-groups", "remote-roles", "x-realmgate-realm",
    "x-realmgate-subject", "x-realmgate-client", "x-realmgate-certificate",
    "x-realmgate-credential", "x-realmgate-token",
}
-- Of the connection and of the body: the question has neither.
local NOT_ASKED = {
    ["connection"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true,
    ["keep-alive"] = true, ["proxy-connection"] = true, ["te"] = true, ["trailer"] = true,
    ["transfer-encoding"] = true, ["upgrade"] = true,
}
local NOT_RETURNED = {
    ["connection"] = true, ["content-length"] = true, ["keep-alive"] = true,
    ["transfer-encoding"] = true,
}
local REFUSALS = { [302] = "Found", [401] = "Unauthorized", [403] = "Forbidden" }

-- HAProxy numbers the values of a header from 0, a script from 1.
local function copied(headers, left_out)
    local found = {}
    for name, values in pairs(headers) do
        if not left_out[name] then
            found[name] = {}
            for _, value in pairs(values) do
                table.insert(found[name], value)
            end
        end
    end
    return found
end

-- The session of the browser is for the gateway: a service that had it could use other services.
local function without_session(cookies)
    local kept = {}
    for cookie in cookies:gmatch("[^;]+") do
        if not cookie:match("^%s*__%a+%-realmgate%-session=") then
            table.insert(kept, (cookie:gsub("^%s+", "")))
        end
    end
    return table.concat(kept, "; ")
end

local function remove_session(txn, cookies)
    local kept = without_session(table.concat(cookies, "; "))
    txn.http:req_del_header("cookie")
    if kept ~= "" then
        txn.http:req_set_header("cookie", kept)
    end
end

-- HAProxy leaves out, and says nothing, what the buffer of the request has no room for.
local function pass_on_identity(txn, received)
    for _, name in ipairs(IDENTITY_HEADERS) do
        if received[name] then
            txn.http:req_set_header(name, received[name][1])
        end
    end
    local passed_on = txn.http:req_get_headers()
    for _, name in ipairs(IDENTITY_HEADERS) do
        if received[name] and not (passed_on[name] and passed_on[name][0] == received[name][1]) then
            return false
        end
    end
    return true
end

local function guard(txn)
    local headers = copied(txn.http:req_get_headers(), NOT_ASKED)
    headers["x-forwarded-method"] = { txn.f:method() }
    headers["x-forwarded-uri"] = { txn.f:pathq() }
    local answer = core.httpclient():get({
        url = "http://realmgate/.realmgate/guard/haproxy",
        headers = headers,
        dst = GATEWAY,
        timeout = TIMEOUT_MS,
    })
    local received = copied(answer.headers or {}, NOT_RETURNED)
    if answer.status == 200 then
        remove_session(txn, headers["cookie"] or {})
        if received["x-realmgate-authorization"] then
            txn.http:req_del_header("authorization")
        end
        if pass_on_identity(txn, received) then
            txn:set_var("txn.realmgate_decision", "allowed")
        end
    elseif REFUSALS[answer.status] then
        txn:done(txn:reply({
            status = answer.status,
            reason = REFUSALS[answer.status],
            headers = received,
            body = answer.body or "",
        }))
    end
end

core.register_action("realmgate-guard", { "http-req" }, guard, 0)
