-- Device authorizations of one realm; single_use_codes.py describes the keys.
-- ARGV: operation, realm, arguments of the operation. Instants are in microseconds, by the clock of
-- the server; durations in milliseconds.

local realm, now = ARGV[2], microseconds()
local DEVICE = 'rg:device-code:' .. realm .. ':'
local USER_CODE = 'rg:device-user-code:' .. realm .. ':'
local POLLED = 'rg:device-polled:' .. realm .. ':'
local GUESSES = 'rg:device-guesses:' .. realm .. ':'
local REMEMBERED = 10000
local anonymous = bounded.set('device-code', realm)
local operations = {}

local function read(code)
  local FIELDS = {
    'status', 'client', 'expires', 'interval', 'authorization', 'approval', 'network',
    'generation'
  }
  local values = redis.call('HMGET', DEVICE .. code, unpack(FIELDS))
  if not values[1] then return nil end
  local device = {code = code}
  for place, name in ipairs(FIELDS) do device[name] = values[place] end
  if tonumber(device.expires) <= now then device.status = 'expired' end
  return device
end

local function by_user_code(user_code)
  local code = redis.call('GET', USER_CODE .. user_code)
  return code and read(code) or nil
end

-- An expired code is remembered for the interval and ten seconds more: its device learns of it.
-- `most` is the limit of bytes of what public clients of the realm asked for; 0 for another client.
function operations.add(code, user_code, client, lifespan, interval, authorization, most, network)
  local lasts = tonumber(lifespan) + tonumber(interval) + REMEMBERED
  if not redis.call('SET', USER_CODE .. user_code, code, 'PX', lasts, 'NX') then return 0 end
  local expires = string.format('%.0f', now + tonumber(lifespan) * 1000)
  redis.call('HSET', DEVICE .. code, 'status', 'pending', 'client', client, 'expires', expires,
    'interval', interval, 'authorization', authorization, 'network', network)
  redis.call('PEXPIRE', DEVICE .. code, lasts)
  if tonumber(most) == 0 then return 1 end
  anonymous.add(network, code .. ' ' .. user_code, #authorization, now, lasts)
  anonymous.make_room(tonumber(most), function(name)
    local oldest, typed = name:match('^(.*) (.*)$')
    redis.call('DEL', DEVICE .. oldest, USER_CODE .. typed)
  end)
  return 1
end

function operations.poll(code, client)
  local device = read(code)
  if not device then return {'unknown'} end
  if device.status == 'expired' then return {'expired'} end
  if device.client ~= client then return {'other_client'} end
  local interval = tonumber(device.interval)
  if interval > 0 and not redis.call('SET', POLLED .. code, '', 'PX', interval, 'NX') then
    return {'too_fast'}
  end
  if device.status ~= 'approved' then return {device.status, device.authorization} end
  return {'approved', device.authorization, device.approval, device.generation or ''}
end

function operations.take(code)
  local device = read(code)
  if not device or device.status ~= 'approved' then return 0 end
  redis.call('DEL', DEVICE .. code, POLLED .. code)
  return 1
end

function operations.find(user_code, address, most, window)
  local guesses = GUESSES .. address
  if tonumber(redis.call('GET', guesses) or 0) >= tonumber(most) then
    return {'too_many_guesses'}
  end
  local device = by_user_code(user_code)
  if not device then
    if redis.call('INCR', guesses) == 1 then redis.call('PEXPIRE', guesses, window) end
    return {'unknown'}
  end
  return {device.status, device.status == 'pending' and device.authorization or nil}
end

local function answer(user_code, client, status, approval, generation)
  local device = by_user_code(user_code)
  if not device or device.status ~= 'pending' or device.client ~= client then return 0 end
  redis.call('HSET', DEVICE .. device.code, 'status', status, 'approval', approval, 'generation', generation)
  redis.call('DEL', USER_CODE .. user_code)
  local name = device.code .. ' ' .. user_code
  anonymous.remove(device.network or '', name, #device.authorization)
  return 1
end

-- The generation is a field of its own: an earlier version reads the approval too.
function operations.approve(user_code, client, approval, generation)
  return answer(user_code, client, 'approved', approval, generation)
end

function operations.deny(user_code, client)
  return answer(user_code, client, 'denied', '', '')
end

return operations[ARGV[1]](unpack(ARGV, 3))
