-- Authorization codes; single_use_codes.py describes the keys.
-- ARGV: operation, key, arguments of the operation.

local REDEEMED, REPLAYED = '', 'replayed'
local operations = {}

-- Returns the text of a session that has not expired; sessions.py describes it.
local function find_session(key)
  local text = redis.call('GET', key)
  return text and tonumber(text:match('^%d+')) > microseconds() and text or ''
end

-- Returns what is known of the code, and code and session the first time only.
function operations.redeem(key, session_key, window)
  local text = redis.call('GET', key)
  if not text then
    return {'unknown', '', ''}
  end
  if text == REDEEMED or text == REPLAYED then
    redis.call('SET', key, REPLAYED, 'KEEPTTL')
    return {'replayed', '', ''}
  end
  redis.call('SET', key, REDEEMED, 'PX', window)
  return {'first', text, find_session(session_key)}
end

function operations.was_replayed(key)
  return redis.call('GET', key) == REPLAYED and 1 or 0
end

return operations[ARGV[1]](ARGV[2], unpack(ARGV, 3))
