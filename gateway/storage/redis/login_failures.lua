-- Failed sign-ins of one realm; login_failures.py describes the keys.
-- ARGV: operation, realm, arguments of the operation. Instants are in milliseconds, by the clock of
-- the server.
-- The rules of the realm come last, by name: see _rules in login_failures.py.

local operation, realm, now = ARGV[1], ARGV[2], math.floor(microseconds() / 1000)
local RECORD = 'rg:failures:' .. realm .. ':'
local ATTEMPTS = 'rg:attempts:' .. realm .. ':'
local FAILED = 'rg:failed:' .. realm
local LOCKED = 'rg:locked:' .. realm
local FIELDS = {'failures', 'lockouts', 'locked_until', 'last_failure', 'permanent', 'secondary'}
local GRACE, DAY = 60000, 86400000
local YEAR = 365 * DAY

local function whole(number)
  return string.format('%.0f', number)
end

local RULES = {
  'permanent_lockout', 'linear', 'failure_factor', 'wait_increment_seconds',
  'max_failure_wait_seconds', 'minimum_quick_login_wait_seconds', 'quick_login_check_milliseconds',
  'max_delta_time_milliseconds', 'max_temporary_lockouts', 'max_secondary_failures',
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
  return record
end

local function is_locked(record)
  return record.permanent == 1 or math.floor(now / 1000) < record.locked_until
end

local function wait_of(record, rules)
  if rules.for_good or rules.failure_factor <= 0 then
    return 0
  end
  if rules.linear then
    return rules.wait_increment_seconds * (1 + record.failures - rules.failure_factor)
  end
  return rules.wait_increment_seconds * math.floor(record.failures / rules.failure_factor)
end

-- Keycloak's eight steps for a failure now; returns whether a temporary lock-out began.
-- Stricter than Keycloak: failures close together lock for at least the quick wait, whatever the
-- longest wait is.
local function count(record, rules, secondary)
  -- Without an earlier failure this is the time since 1970: not quick, and nothing to reset.
  local since = now - record.last_failure
  if not rules.for_good and since > rules.max_delta_time_milliseconds then
    record.failures, record.lockouts, record.locked_until, record.secondary = 0, 0, 0, 0
  end
  record.last_failure = now
  record.failures = record.failures + 1
  if secondary then
    record.secondary = record.secondary + 1
  end
  local close, locked = since < rules.quick_login_check_milliseconds, false
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
  local values = {'address', address}
  for _, field in ipairs(FIELDS) do
    table.insert(values, field)
    table.insert(values, whole(record[field]))
  end
  redis.call('HSET', RECORD .. user, unpack(values))
  redis.call('PEXPIRE', RECORD .. user, whole(milliseconds))
  list(FAILED, whole(now + milliseconds), user, milliseconds)
  if record.permanent == 1 then
    list(LOCKED, whole(now + milliseconds), user, milliseconds)
  elseif record.locked_until > 0 then
    list(LOCKED, whole(record.locked_until * 1000), user, milliseconds)
  else
    redis.call('ZREM', LOCKED, user)
  end
end

local function remove(user)
  redis.call('ZREM', FAILED, user)
  redis.call('ZREM', LOCKED, user)
  return redis.call('DEL', RECORD .. user)
end

local function show(user)
  return redis.call('HMGET', RECORD .. user, 'address', unpack(FIELDS))
end

local operations = {}

function operations.reserve()
  local user, attempt, lifespan = ARGV[3], ARGV[4], ARGV[5]
  -- Writes nothing, but a full server refuses it, while it would accept commands after a first one
  -- that only removes: no sign-in succeeds whose session could not be stored.
  redis.call('SET', 'rg:nothing', '', 'XX')
  local record, rules, attempts = read(user), parse_rules(6), ATTEMPTS .. user
  if record.permanent == 1 then
    return 'locked for good'
  elseif is_locked(record) then
    return 'locked'
  end
  redis.call('ZREMRANGEBYSCORE', attempts, '-inf', whole(now))
  for _ = 1, redis.call('ZCARD', attempts) do
    -- The outcome of attempts in progress is unknown: count them as failures.
    count(record, rules, true)
    if is_locked(record) then
      return 'busy'
    end
  end
  redis.call('ZADD', attempts, whole(now + lifespan), attempt)
  redis.call('PEXPIRE', attempts, lifespan)
  return 'admitted'
end

function operations.fail()
  local user, attempt, address = ARGV[3], ARGV[4], ARGV[5]
  local second_factor = ARGV[6] == '1'
  local record, rules = read(user), parse_rules(7)
  local was_permanent = record.permanent == 1
  redis.call('ZREM', ATTEMPTS .. user, attempt)
  local locked = count(record, rules, second_factor)
  local permanent = record.permanent == 1 and not was_permanent
  write(user, record, address, lifetime(record, rules))
  return {locked and 1 or 0, permanent and 1 or 0, show(user)}
end

-- Settles the attempt with the same work as a failure, on a record under an empty user id.
function operations.pass_over()
  local user, attempt, address = ARGV[3], ARGV[4], ARGV[5]
  local record, rules = read(user), parse_rules(6)
  redis.call('ZREM', ATTEMPTS .. user, attempt)
  count(record, rules, false)
  write('', record, address, lifetime(record, rules))
  local shown = show('')
  remove('')
  return {0, 0, shown}
end

function operations.succeed()
  redis.call('ZREM', ATTEMPTS .. ARGV[3], ARGV[4])
  return remove(ARGV[3])
end

function operations.release()
  return redis.call('ZREM', ATTEMPTS .. ARGV[3], ARGV[4])
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
    known = known + remove(user)
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
