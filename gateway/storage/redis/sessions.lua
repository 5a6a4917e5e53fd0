-- Online sessions of one realm; sessions.py describes the keys.
-- ARGV: operation, realm, arguments of the operation. Instants are whole microseconds: compared as
-- numbers, and written as text with all digits, since Lua would round them.
-- Sessions expire by the clock of the server: `lasts` is the remaining time in microseconds.

local operation, realm, now = ARGV[1], ARGV[2], microseconds()
local SESSION = 'rg:session:' .. realm .. ':'
local OF_REALM = 'rg:sessions:' .. realm
local OF_USER = 'rg:sessions-of-user:' .. realm .. ':'
local OF_CLIENT = 'rg:sessions-of-client:' .. realm .. ':'
local SWEPT_BY_WRITES, SWEPT_BY_READS = 10, 1000
local GRACE = 86400 * 1000000

local function whole(number)
  return string.format('%.0f', number)
end

local function expires_in(lasts)
  return whole(now + tonumber(lasts))
end

-- Keys outlive their session: the sweep finds the index entries of an expired session by its key.
local function ttl_of(lasts)
  return whole(math.max(1, math.floor((tonumber(lasts) + GRACE) / 1000)))
end

local function parse(text)
  local session = {clients = {}, parts = {}}
  local head, rest, parts = text:match('^([^\n]*)\n([^\n]*)\n(.*)$')
  session.expires, session.started, session.refreshed, session.user =
    head:match('^(%d+) (%d+) (%d+) (.*)$')
  session.rest = rest
  for part in parts:gmatch('[^\n]+') do
    local client = part:match('^(%S+)')
    table.insert(session.clients, client)
    session.parts[client] = part
  end
  return session
end

local function write(session)
  local lines = {
    table.concat({session.expires, session.started, session.refreshed, session.user}, ' '),
    session.rest,
  }
  for _, client in ipairs(session.clients) do
    table.insert(lines, session.parts[client])
  end
  return table.concat(lines, '\n') .. '\n'
end

local function list_in(index, score, id, ttl)
  redis.call('ZADD', index, score, id)
  if redis.call('PTTL', index) < tonumber(ttl) then
    redis.call('PEXPIRE', index, ttl)
  end
end

local function list(id, session, ttl)
  list_in(OF_REALM, session.expires, id, ttl)
  list_in(OF_USER .. session.user, session.started, id, ttl)
  for _, client in ipairs(session.clients) do
    list_in(OF_CLIENT .. client, session.started, id, ttl)
  end
end

local function is_active(session)
  return tonumber(session.expires) > now
end

local function find_active(id)
  local text = redis.call('GET', SESSION .. id)
  local session = text and parse(text)
  return session and is_active(session) and session or nil
end

-- Removes a session and its entries in every index; returns 1 if it had not expired.
local function remove(id)
  local text = redis.call('GET', SESSION .. id)
  redis.call('ZREM', OF_REALM, id)
  if not text then
    return 0
  end
  redis.call('DEL', SESSION .. id)
  local session = parse(text)
  redis.call('ZREM', OF_USER .. session.user, id)
  for _, client in ipairs(session.clients) do
    redis.call('ZREM', OF_CLIENT .. client, id)
  end
  return is_active(session) and 1 or 0
end

local function sweep(most)
  local expired = redis.call('ZRANGEBYSCORE', OF_REALM, '-inf', whole(now), 'LIMIT', 0, most)
  for _, id in ipairs(expired) do
    remove(id)
  end
  return #expired
end

-- Returns the sessions of an index from position `first` on; removes entries without a session.
local function page(index, first, most)
  local found = {}
  while #found < most * 2 do
    local ids = redis.call('ZRANGE', index, first, first + most - #found / 2 - 1)
    if #ids == 0 then
      break
    end
    for _, id in ipairs(ids) do
      local text = redis.call('GET', SESSION .. id)
      if not text then
        redis.call('ZREM', index, id)
      else
        first = first + 1
        if is_active(parse(text)) then
          table.insert(found, id)
          table.insert(found, text)
        end
      end
    end
  end
  return found
end

-- Stores an authorization code; `key` is nil where the session is written without one.
local function issue(key, code, lifespan)
  if key then
    redis.call('SET', key, code, 'PX', lifespan, 'NX')
  end
end

local operations = {}

-- `text` is the stored text without the instant of expiry.
function operations.add(id, text, lasts, ...)
  sweep(SWEPT_BY_WRITES)
  local ttl = ttl_of(lasts)
  text = expires_in(lasts) .. ' ' .. text
  if not redis.call('SET', SESSION .. id, text, 'PX', ttl, 'NX') then
    return 0
  end
  list(id, parse(text), ttl)
  issue(...)
  return 1
end

function operations.find(id)
  local text = redis.call('GET', SESSION .. id)
  return text and tonumber(text:match('^%d+')) > now and text or nil
end

-- Tells whether the client's part is the one that the caller has read: it begins at the instant
-- `expected`. `-` is for no part, an empty text for any.
local function is_expected(part, expected)
  return expected == '' or expected == (part and part:match('^%S+ (%S+)') or '-')
end

-- `own` replaces the line of JSON unless it is empty: the user signed in again.
function operations.join(id, refreshed, lasts, client, part, expected, own, ...)
  sweep(SWEPT_BY_WRITES)
  local session = find_active(id)
  if not session or not is_expected(session.parts[client], expected) then
    return 0
  end
  session.refreshed, session.expires = refreshed, expires_in(lasts)
  session.rest = own ~= '' and own or session.rest
  if not session.parts[client] then
    table.insert(session.clients, client)
  end
  session.parts[client] = part
  local ttl = ttl_of(lasts)
  redis.call('SET', SESSION .. id, write(session), 'PX', ttl)
  list(id, session, ttl)
  issue(...)
  return 1
end

-- As join, but a client that another request removed from the session stays removed.
function operations.refresh(id, refreshed, lasts, client, part, expected)
  local session = find_active(id)
  if not session or not session.parts[client] then
    return 0
  end
  return operations.join(id, refreshed, lasts, client, part, expected, '')
end

-- The session lasts, though it may be without clients.
function operations.detach(id, client)
  local session = find_active(id)
  if not session or not session.parts[client] then
    return 0
  end
  redis.call('ZREM', OF_CLIENT .. client, id)
  for place, name in ipairs(session.clients) do
    if name == client then
      table.remove(session.clients, place)
      break
    end
  end
  redis.call('SET', SESSION .. id, write(session), 'KEEPTTL')
  return 1
end

function operations.leave(id, client)
  local session = find_active(id)
  if session and session.parts[client] and #session.clients == 1 then
    return remove(id)
  end
  return operations.detach(id, client)
end

-- Up to `most` sessions at once; removes entries without a session.
function operations.leave_all(most, client)
  local ids = redis.call('ZRANGE', OF_CLIENT .. client, 0, most - 1)
  for _, id in ipairs(ids) do
    operations.leave(id, client)
    redis.call('ZREM', OF_CLIENT .. client, id)
  end
  return #ids
end

operations['end'] = remove

-- Up to `most` sessions at once, so that Redis answers other calls in between.
local function end_all(index, most)
  local ids = redis.call('ZRANGE', index, 0, most - 1)
  local ended = 0
  for _, id in ipairs(ids) do
    ended = ended + remove(id)
    redis.call('ZREM', index, id)
  end
  return {ended, #ids}
end

function operations.end_of_user(most, user)
  return end_all(OF_USER .. user, most)
end

function operations.end_of_realm(most)
  return end_all(OF_REALM, most)
end

function operations.of_user(user)
  return page(OF_USER .. user, 0, redis.call('ZCARD', OF_USER .. user))
end

function operations.of_client(client, first, most)
  sweep(SWEPT_BY_READS)
  return page(OF_CLIENT .. client, tonumber(first), tonumber(most))
end

function operations.count_of_client(client)
  sweep(SWEPT_BY_READS)
  return redis.call('ZCARD', OF_CLIENT .. client)
end

function operations.counts_of_clients(...)
  sweep(SWEPT_BY_READS)
  local counts = {}
  for _, client in ipairs({...}) do
    table.insert(counts, redis.call('ZCARD', OF_CLIENT .. client))
  end
  return counts
end

function operations.purge()
  return sweep(SWEPT_BY_READS)
end

return operations[operation](unpack(ARGV, 3))
