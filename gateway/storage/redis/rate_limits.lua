-- Counts of what callers cause; rate_limiter.py describes the keys.
-- ARGV: operation, realm, arguments of the operation. Durations are in milliseconds.

local COUNTS = 'rg:rate:' .. ARGV[2] .. ':'
local KNOWN = 'rg:known-networks:' .. ARGV[2] .. ':'
local operations = {}

local function count(key, window)
  if redis.call('INCR', key) == 1 then redis.call('PEXPIRE', key, window) end
end

-- `of_known` is 0 for a limit that does not count known networks apart.
function operations.admit(name, subject, network, of_network, in_all, reserve, of_known, window)
  local all, most = COUNTS .. name .. ':' .. subject, tonumber(in_all)
  local shared = most - tonumber(reserve)
  local is_known = redis.call('ZSCORE', KNOWN .. subject, network)
  if is_known and tonumber(of_known) > 0 then
    all, most, shared = all .. ':known', tonumber(of_known), tonumber(of_known)
  end
  local own = all .. ':' .. network
  local of_own = tonumber(redis.call('GET', own) or 0)
  local of_all = tonumber(redis.call('GET', all) or 0)
  if of_own >= tonumber(of_network) or of_all >= most then return 0 end
  if of_own > 0 and of_all >= shared then return 0 end
  count(own, window)
  count(all, window)
  return 1
end

-- Keeps the `most` networks of the last sign-ins, each for `lasts`.
function operations.remember(user, network, most, lasts)
  local key, now = KNOWN .. user, math.floor(microseconds() / 1000)
  redis.call('ZADD', key, string.format('%.0f', now), network)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('(%.0f', now - tonumber(lasts)))
  redis.call('ZREMRANGEBYRANK', key, 0, -1 - tonumber(most))
  redis.call('PEXPIRE', key, lasts)
end

return operations[ARGV[1]](unpack(ARGV, 3))
