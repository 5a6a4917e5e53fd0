-- Authorization codes; authorization_codes.py describes the keys.
-- ARGV: operation, key, arguments of the operation.

local REDEEMED, REPLAYED = '', 'replayed'
local operations = {}

function operations.add(key, text, lifespan)
  redis.call('SET', key, text, 'PX', lifespan, 'NX')
end

-- Returns what is known of the code, and the code the first time only.
function operations.redeem(key, window)
  local text = redis.call('GET', key)
  if not text then
    return {'unknown', ''}
  end
  if text == REDEEMED or text == REPLAYED then
    redis.call('SET', key, REPLAYED, 'KEEPTTL')
    return {'replayed', ''}
  end
  redis.call('SET', key, REDEEMED, 'PX', window)
  return {'first', text}
end

function operations.was_replayed(key)
  return redis.call('GET', key) == REPLAYED and 1 or 0
end

return operations[ARGV[1]](ARGV[2], unpack(ARGV, 3))
