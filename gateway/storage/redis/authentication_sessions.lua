-- Authentication sessions of one browser; authentication_sessions.py describes the key.
-- ARGV: operation, realm, id of the browser, arguments of the operation.
-- A field is a tab, its value `<expires> <version> <text>`; instants are whole microseconds.

local operation, now = ARGV[1], microseconds()
local PREFIX = 'rg:authentication-session:' .. ARGV[2] .. ':'
local KEY = PREFIX .. ARGV[3]
local unproven = bounded.set('authentication-session', ARGV[2])

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

-- The network of the caller comes first in the text, where no request can put a name.
local function network_of(value)
  return value:match('^%d+ %d+ {"w":"([^"]*)"') or ''
end

local function forget(tab)
  local value = redis.call('HGET', KEY, tab) or ''
  unproven.remove(network_of(value), ARGV[3] .. ' ' .. tab, #value)
end

local function remove(tab)
  forget(tab)
  return redis.call('HDEL', KEY, tab)
end

-- `most` is the limit of bytes of the realm's sessions in which no credential was right; 0 for a
-- session in which one was, which is not counted.
local function write(tab, lasts, version, text, most)
  forget(tab)
  local value = string.format('%.0f %s ', now + tonumber(lasts), version) .. text
  redis.call('HSET', KEY, tab, value)
  local ttl = math.max(1, math.ceil(tonumber(lasts) / 1000))
  if redis.call('PTTL', KEY) < ttl then
    redis.call('PEXPIRE', KEY, string.format('%.0f', ttl))
  end
  if tonumber(most) == 0 then return end
  unproven.add(network_of(value), ARGV[3] .. ' ' .. tab, #value, now, ttl)
  unproven.make_room(tonumber(most), function(name)
    local id, oldest = name:match('^(.*) (.*)$')
    redis.call('HDEL', PREFIX .. id, oldest)
  end)
end

-- Remove the tabs that have ended and, where none has, the one that ends first.
local function make_room()
  local first, ended = nil, 0
  local all = redis.call('HGETALL', KEY)
  for place = 1, #all, 2 do
    local expires = parse(all[place + 1]).expires
    if expires <= now then
      remove(all[place])
      ended = ended + 1
    elseif not first or expires < first.expires then
      first = {tab = all[place], expires = expires}
    end
  end
  if ended == 0 and first then remove(first.tab) end
end

local function move(id)
  for _, tab in ipairs(redis.call('HKEYS', KEY)) do
    local value = redis.call('HGET', KEY, tab)
    local network = network_of(value)
    local at = unproven.remove(network, ARGV[3] .. ' ' .. tab, #value)
    if at then unproven.add(network, id .. ' ' .. tab, #value, at, redis.call('PTTL', KEY)) end
  end
  redis.call('RENAME', KEY, PREFIX .. id)
end

if operation == 'add' then
  local tabs, tab, lasts, version, text, most = unpack(ARGV, 4)
  if redis.call('HLEN', KEY) >= tonumber(tabs) then make_room() end
  write(tab, lasts, version, text, most)
  return 1
elseif operation == 'find' then
  local session = find(ARGV[4])
  if not session then return false end
  return {session.version, session.text}
elseif operation == 'replace' then
  local before, id, tab, lasts, version, text, most = unpack(ARGV, 4)
  local session = find(tab)
  if not session or session.version ~= before then return 0 end
  write(tab, lasts, version, text, most)
  if id ~= ARGV[3] then move(id) end
  return 1
elseif operation == 'remove' then
  return remove(ARGV[4])
elseif operation == 'delete' then
  for _, tab in ipairs(redis.call('HKEYS', KEY)) do forget(tab) end
  return redis.call('DEL', KEY)
end
return redis.error_reply('unknown operation')
