-- Authentication sessions of one browser; authentication_sessions.py describes the key.
-- ARGV: operation, realm, id of the browser, arguments of the operation.
-- A field is a tab, its value `<expires> <version> <text>`; instants are whole microseconds.

local operation, now = ARGV[1], microseconds()
local PREFIX = 'rg:authentication-session:' .. ARGV[2] .. ':'
local KEY = PREFIX .. ARGV[3]

local function parse(value)
  if not value then return nil end
  local expires, version, text = value:match('^(%d+) (%d+) (.*)$')
  return {expires = tonumber(expires), version = version, text = text}
end

local function find(tab)
  local session = parse(redis.call('HGET', KEY, tab))
  if session and session.expires > now then return session end
  return nil
end

local function write(tab, lasts, version, text)
  local value = string.format('%.0f %s ', now + tonumber(lasts), version) .. text
  redis.call('HSET', KEY, tab, value)
  local ttl = math.max(1, math.ceil(tonumber(lasts) / 1000))
  if redis.call('PTTL', KEY) < ttl then
    redis.call('PEXPIRE', KEY, string.format('%.0f', ttl))
  end
end

-- Remove the tabs that have ended and, where none has, the one that ends first.
local function make_room()
  local first, ended = nil, 0
  local all = redis.call('HGETALL', KEY)
  for place = 1, #all, 2 do
    local expires = parse(all[place + 1]).expires
    if expires <= now then
      redis.call('HDEL', KEY, all[place])
      ended = ended + 1
    elseif not first or expires < first.expires then
      first = {tab = all[place], expires = expires}
    end
  end
  if ended == 0 and first then redis.call('HDEL', KEY, first.tab) end
end

if operation == 'add' then
  local most, tab, lasts, version, text = unpack(ARGV, 4)
  if redis.call('HLEN', KEY) >= tonumber(most) then make_room() end
  write(tab, lasts, version, text)
  return 1
elseif operation == 'find' then
  local session = find(ARGV[4])
  if not session then return false end
  return {session.version, session.text}
elseif operation == 'replace' then
  local before, id, tab, lasts, version, text = unpack(ARGV, 4)
  local session = find(tab)
  if not session or session.version ~= before then return 0 end
  write(tab, lasts, version, text)
  if id ~= ARGV[3] then redis.call('RENAME', KEY, PREFIX .. id) end
  return 1
elseif operation == 'remove' then
  return redis.call('HDEL', KEY, ARGV[4])
elseif operation == 'delete' then
  return redis.call('DEL', KEY)
end
return redis.error_reply('unknown operation')
