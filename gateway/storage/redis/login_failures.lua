-- Failed sign-ins of one realm; login_failures.py describes the keys.
-- ARGV: operation, realm, arguments of the operation. Instants are in milliseconds, by the clock of
-- the server.
-- The rules of the realm come last, by name: see _rules in login_failures.py.

local operation, realm, now = ARGV[1], ARGV[2], math.floor(microseconds() / 1000)
local RECORD = 'rg:failures:' .. realm .. ':'
local ATTEMPTS = 'rg:attempts:' .. realm .. ':'
local ADDRESSES = 'rg:addresses:' .. realm .. ':'
local FAILED = 'rg:failed:' .. realm
local LOCKED = 'rg:locked:' .. realm
local FIELDS = {'failures', 'lockouts', 'locked_until', 'last_failure', 'permanent', 'secondary'}
local UNKNOWN = 'rg:unknown:' .. realm
local MOST_ADDRESSES = 50
local MOST_UNKNOWN = 20000
local GRACE, DAY = 60000, 86400000
local YEAR = 365 * DAY

local function whole(number)
  return string.format('%.0f', number)
end

local RULES = {
  'permanent_lockout', 'linear', 'failure_factor', 'wait_increment_seconds',
  'max_failure_wait_seconds', 'minimum_quick_login_wait_seconds', 'quick_login_check_milliseconds',
  'max_delta_time_milliseconds', 'max_temporary_lockouts', 'max_secondary_failures',
  'failures_per_address',
}

-- Parses the arguments from `first` on: names and numbers in turn. A missing rule fails the call
-- before any write, since it would allow unlimited guesses.
local function parse_rules(first)
  local rules = {}
  for position = first, #ARGV, 2 do
    rules[ARGV[position]] = tonumber(ARGV[position + 1])
  end
  for _, name in ipairs(RULES) do
    if not rules[name] then
      error('missing rule ' .. name)
    end
  end
  rules.permanent_lockout = rules.permanent_lockout == 1
  rules.linear = rules.linear == 1
  rules.for_good = rules.permanent_lockout and rules.max_temporary_lockouts == 0
  return rules
end

local function read(user)
  local stored = redis.call('HMGET', RECORD .. user, unpack(FIELDS))
  local record = {}
  for position, field in ipairs(FIELDS) do
    record[field] = tonumber(stored[position] or 0)
  end
  record.caller = redis.call('HGET', RECORD .. user, 'caller') or ''
  return record
end

local function is_locked(record)
  return record.permanent == 1 or math.floor(now / 1000) < record.locked_until
end

local function grown_wait(failures, limit, rules)
  if rules.linear then
    return rules.wait_increment_seconds * (1 + failures - limit)
  end
  return rules.wait_increment_seconds * math.floor(failures / limit)
end

local function wait_of(record, rules)
  if rules.for_good or rules.failure_factor <= 0 then
    return 0
  end
  return grown_wait(record.failures, rules.failure_factor, rules)
end

-- A user who is locked for good is counted without a limit of time, and so are the addresses.
local function is_too_old(last_failure, rules)
  return not rules.for_good and now - last_failure > rules.max_delta_time_milliseconds
end

-- The failures of one user by address; none where the realm does not limit addresses.
local function read_addresses(user, rules)
  local addresses = {number = 0, by_caller = {}}
  if rules.failures_per_address == 0 then
    return addresses
  end
  local stored = redis.call('HGETALL', ADDRESSES .. user)
  for position = 1, #stored, 2 do
    local failures, last, locked = string.match(stored[position + 1], '^(%d+) (%d+) (%d+)$')
    local found = {
      failures = tonumber(failures), last_failure = tonumber(last), locked_until = tonumber(locked),
    }
    if not is_too_old(found.last_failure, rules) or math.floor(now / 1000) < found.locked_until then
      addresses.by_caller[stored[position]] = found
      addresses.number = addresses.number + 1
    end
  end
  return addresses
end

local function is_locked_address(addresses, caller)
  local found = addresses.by_caller[caller]
  return found ~= nil and math.floor(now / 1000) < found.locked_until
end

local function another_is_spent(addresses, caller, rules)
  for name, found in pairs(addresses.by_caller) do
    if name ~= caller and found.failures >= rules.failures_per_address then
      return true
    end
  end
  return false
end

-- Counts a failure of the address; returns whether it counts for the user too. A failure does not
-- where the limit of its address was reached before and that of no other one is: so one address
-- does not lock the user, and guesses from several addresses are never free.
local function count_address(addresses, caller, rules)
  local limit, found = rules.failures_per_address, addresses.by_caller[caller]
  if limit == 0 or (not found and addresses.number >= MOST_ADDRESSES) then
    return true
  end
  if not found then
    found = {failures = 0, last_failure = 0, locked_until = 0}
    addresses.by_caller[caller] = found
    addresses.number = addresses.number + 1
  end
  local since = now - found.last_failure
  if is_too_old(found.last_failure, rules) then
    found.failures, found.locked_until = 0, 0
  end
  local was_spent = found.failures >= limit
  found.last_failure, found.failures = now, found.failures + 1
  local wait = math.min(
    grown_wait(found.failures, limit, rules), rules.max_failure_wait_seconds)
  -- A guess after which the address is not locked has to count, or the guesses have no limit.
  local counts = not was_spent or wait <= 0 or another_is_spent(addresses, caller, rules)
  if since < rules.quick_login_check_milliseconds then
    wait = math.max(wait, rules.minimum_quick_login_wait_seconds)
  end
  if wait > 0 then
    found.locked_until = math.floor(now / 1000) + wait
  end
  return counts
end

-- Keycloak's eight steps for a failure now; returns whether a temporary lock-out began.
-- Stricter than Keycloak: failures close together lock for at least the quick wait, whatever the
-- longest wait is. Where addresses are limited, two of one address lock the address instead.
local function count(record, rules, secondary, caller)
  -- Without an earlier failure this is the time since 1970: not quick, and nothing to reset.
  local since = now - record.last_failure
  if is_too_old(record.last_failure, rules) then
    record.failures, record.lockouts, record.locked_until, record.secondary = 0, 0, 0, 0
  end
  record.last_failure = now
  record.failures = record.failures + 1
  if secondary then
    record.secondary = record.secondary + 1
  end
  local same_address = caller ~= '' and caller == record.caller
  local close = since < rules.quick_login_check_milliseconds and not same_address
  local locked = false
  record.caller = caller
  local wait = wait_of(record, rules)
  local quick = close and wait <= 0
  if not rules.for_good then
    wait = math.min(wait, rules.max_failure_wait_seconds)
  end
  if close then
    wait = math.max(wait, rules.minimum_quick_login_wait_seconds)
  end
  if wait > 0 then
    if not quick then
      record.lockouts = record.lockouts + 1
    end
    if quick or not rules.permanent_lockout or record.lockouts <= rules.max_temporary_lockouts then
      record.locked_until = math.floor(now / 1000) + wait
      locked = wait > 0
    end
  end
  local spent = rules.max_temporary_lockouts == 0 and record.failures >= rules.failure_factor
  if rules.permanent_lockout and (record.lockouts > rules.max_temporary_lockouts or spent) then
    record.permanent = 1
  end
  if rules.max_secondary_failures > 0 and record.secondary > rules.max_secondary_failures then
    record.permanent = 1
  end
  return locked
end

-- Counts a failure of the address and of the user; returns whether it counts for the user, and
-- whether a temporary lock-out of the user began. A wrong second factor follows a right password,
-- so that no stranger can cause it: it always counts.
local function count_both(record, addresses, caller, rules, secondary)
  local counts = count_address(addresses, caller, rules)
  if not counts and not secondary then
    return false, false
  end
  return true, count(record, rules, secondary, addresses.by_caller[caller] and caller or '')
end

local function lifetime(record, rules)
  if rules.for_good or record.permanent == 1 then
    return YEAR
  end
  return rules.max_delta_time_milliseconds + math.max(0, record.locked_until * 1000 - now) + GRACE
end

local function list(index, score, user, milliseconds)
  -- A day later, so that a server whose clock was set back still finds the entries.
  redis.call('ZREMRANGEBYSCORE', index, '-inf', whole(now - DAY))
  redis.call('ZADD', index, score, user)
  if redis.call('PTTL', index) < milliseconds then
    redis.call('PEXPIRE', index, whole(milliseconds))
  end
end

local function write(user, record, address, milliseconds)
  local values = {'address', address, 'caller', record.caller}
  for _, field in ipairs(FIELDS) do
    table.insert(values, field)
    table.insert(values, whole(record[field]))
  end
  redis.call('HSET', RECORD .. user, unpack(values))
  redis.call('PEXPIRE', RECORD .. user, whole(milliseconds))
  if record.permanent == 1 then
    list(LOCKED, whole(now + milliseconds), user, milliseconds)
  elseif record.locked_until > 0 then
    list(LOCKED, whole(record.locked_until * 1000), user, milliseconds)
  else
    redis.call('ZREM', LOCKED, user)
  end
end

-- Returns how long they are to be kept, 0 where there are none.
local function write_addresses(user, addresses, rules)
  local values, milliseconds = {}, 0
  for caller, found in pairs(addresses.by_caller) do
    local numbers = {whole(found.failures), whole(found.last_failure), whole(found.locked_until)}
    table.insert(values, caller)
    table.insert(values, table.concat(numbers, ' '))
    milliseconds = math.max(milliseconds, lifetime(found, rules))
  end
  if #values > 0 then
    redis.call('DEL', ADDRESSES .. user)
    redis.call('HSET', ADDRESSES .. user, unpack(values))
    redis.call('PEXPIRE', ADDRESSES .. user, whole(milliseconds))
  end
  return milliseconds
end

-- Counts a failure of the user and writes it; returns whether a temporary lock-out began. One that
-- counts for the address alone takes the same work, on a record under an empty user id.
local function fail(user, record, attempt)
  local rules = attempt.rules
  local counts, locked = count_both(
    record, attempt.addresses, attempt.caller, rules, attempt.second_factor)
  local milliseconds = lifetime(record, rules)
  write(counts and user or '', record, attempt.address, milliseconds)
  if not counts then
    redis.call('ZREM', LOCKED, '')
    redis.call('DEL', RECORD)
  end
  milliseconds = math.max(milliseconds, write_addresses(user, attempt.addresses, rules))
  list(FAILED, whole(now + milliseconds), user, milliseconds)
  return locked
end

-- Returns whether there was something.
local function remove(user)
  redis.call('ZREM', FAILED, user)
  redis.call('ZREM', LOCKED, user)
  return math.min(1, redis.call('DEL', RECORD .. user, ADDRESSES .. user))
end

local function show(user)
  return redis.call('HMGET', RECORD .. user, 'address', unpack(FIELDS))
end

-- An attempt in progress is an entry `<attempt> <caller>`; a caller has no spaces.
local function entry_of(attempt, caller)
  return attempt .. ' ' .. caller
end

local function caller_of(entry)
  return string.match(entry, ' ([^ ]*)$') or ''
end

local operations = {}

function operations.reserve()
  local user, attempt, caller, lifespan = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
  -- Writes nothing, but a full server refuses it, while it would accept commands after a first one
  -- that only removes: no sign-in succeeds whose session could not be stored.
  redis.call('SET', 'rg:nothing', '', 'XX')
  local record, rules, attempts = read(user), parse_rules(7), ATTEMPTS .. user
  local addresses = read_addresses(user, rules)
  if record.permanent == 1 then
    return 'locked for good'
  elseif is_locked(record) or is_locked_address(addresses, caller) then
    return 'locked'
  end
  redis.call('ZREMRANGEBYSCORE', attempts, '-inf', whole(now))
  for _, entry in ipairs(redis.call('ZRANGE', attempts, 0, -1)) do
    -- The outcome of attempts in progress is unknown: count them as failures.
    count_both(record, addresses, caller_of(entry), rules, true)
    if is_locked(record) or is_locked_address(addresses, caller) then
      return 'busy'
    end
  end
  redis.call('ZADD', attempts, whole(now + lifespan), entry_of(attempt, caller))
  redis.call('PEXPIRE', attempts, lifespan)
  return 'admitted'
end

function operations.fail()
  local user, id, caller, address = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
  local record, rules = read(user), parse_rules(8)
  local addresses = read_addresses(user, rules)
  local was_permanent = record.permanent == 1
  redis.call('ZREM', ATTEMPTS .. user, entry_of(id, caller))
  local locked = fail(user, record, {
    caller = caller, address = address, second_factor = ARGV[7] == '1', rules = rules,
    addresses = addresses,
  })
  local permanent = record.permanent == 1 and not was_permanent
  local address_locked = is_locked_address(addresses, caller)
  return {locked and 1 or 0, permanent and 1 or 0, address_locked and 1 or 0, show(user)}
end

-- Keeps the failures of a name that no user has, and removes the oldest ones beyond the bound.
local function keep_unknown(name)
  redis.call('ZREM', LOCKED, name)
  redis.call('ZADD', UNKNOWN, whole(now), name)
  redis.call('PEXPIRE', UNKNOWN, whole(YEAR))
  local excess = redis.call('ZCARD', UNKNOWN) - MOST_UNKNOWN
  if excess <= 0 then
    return
  end
  for _, oldest in ipairs(redis.call('ZRANGE', UNKNOWN, 0, excess - 1)) do
    redis.call('ZREM', UNKNOWN, oldest)
    remove(oldest)
  end
end

-- Settles the attempt with the same work as a failure, on a record under an empty user id. One at a
-- name that no user has is counted as a failure of a user is, or waiting would tell them apart.
function operations.pass_over()
  local user, id, caller, address = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
  local record, rules = read(user), parse_rules(8)
  local counted = ARGV[7] == '1' and user or ''
  redis.call('ZREM', ATTEMPTS .. user, entry_of(id, caller))
  fail(counted, record, {
    caller = caller, address = address, second_factor = false, rules = rules,
    addresses = read_addresses(user, rules),
  })
  local shown = show(counted)
  if counted == '' then
    remove('')
  else
    keep_unknown(user)
  end
  return {0, 0, 0, shown}
end

-- The failures of other addresses stay: a stranger's do not begin again with each sign-in.
function operations.succeed()
  local user, caller = ARGV[3], ARGV[5]
  redis.call('ZREM', ATTEMPTS .. user, entry_of(ARGV[4], caller))
  redis.call('HDEL', ADDRESSES .. user, caller)
  if redis.call('EXISTS', ADDRESSES .. user) == 0 then
    return remove(user)
  end
  redis.call('ZREM', LOCKED, user)
  return redis.call('DEL', RECORD .. user)
end

function operations.release()
  return redis.call('ZREM', ATTEMPTS .. ARGV[3], entry_of(ARGV[4], ARGV[5]))
end

function operations.record()
  return show(ARGV[3])
end

function operations.clear()
  return remove(ARGV[3])
end

function operations.clear_some()
  local users, known = redis.call('ZRANGE', FAILED, 0, ARGV[3] - 1), 0
  for _, user in ipairs(users) do
    local is_unknown = redis.call('ZREM', UNKNOWN, user) == 1
    known = known + (remove(user) == 1 and not is_unknown and 1 or 0)
  end
  return {#users, known}
end

function operations.locked()
  local found = {}
  local after = '(' .. whole(now)
  local users = redis.call('ZRANGEBYSCORE', LOCKED, after, '+inf', 'LIMIT', ARGV[3], ARGV[4])
  for _, user in ipairs(users) do
    table.insert(found, {user, show(user)})
  end
  return found
end

return operations[operation]()
