-- Bounds the memory of what anonymous callers store; it precedes every script of this folder.
-- `rg:unproven:<kind>:<realm>:<network>` is a sorted set of `<name> <bytes>` by instant,
-- `rg:unproven-networks:<kind>:<realm>` the bytes of each network of callers, and
-- `rg:unproven-sum:<kind>:<realm>` the sum of all bytes. They expire with the entry that ends last.

local bounded = {}
local OVERHEAD = 512 -- bytes of an entry besides its text: keys, names, the entry here

-- Returns the bounded set of a kind of entries.
function bounded.set(kind, realm)
  local entries = 'rg:unproven:' .. kind .. ':' .. realm .. ':'
  local networks = 'rg:unproven-networks:' .. kind .. ':' .. realm
  local total = 'rg:unproven-sum:' .. kind .. ':' .. realm
  local set = {}

  local function count(network, bytes)
    redis.call('INCRBY', total, bytes)
    if tonumber(redis.call('ZINCRBY', networks, bytes, network)) <= 0 then
      redis.call('ZREM', networks, network)
    end
  end

  -- Forgets an entry of a network whose text has `length` bytes; returns its instant, nil where it
  -- has none.
  function set.remove(network, name, length)
    local member = name .. ' ' .. string.format('%.0f', length + OVERHEAD)
    local at = redis.call('ZSCORE', entries .. network, member)
    if not at then return nil end
    redis.call('ZREM', entries .. network, member)
    count(network, -(length + OVERHEAD))
    return at
  end

  -- Adds an entry of a network for `ttl` milliseconds.
  function set.add(network, name, length, at, ttl)
    local member = name .. ' ' .. string.format('%.0f', length + OVERHEAD)
    redis.call('ZADD', entries .. network, at, member)
    count(network, length + OVERHEAD)
    for _, key in ipairs({entries .. network, networks, total}) do
      if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
    end
  end

  -- Removes the oldest entries of the network with the most bytes, again and again, until all have
  -- at most `most` bytes; calls `remove` with each name.
  function set.make_room(most, remove)
    while tonumber(redis.call('GET', total) or 0) > most do
      local network = redis.call('ZREVRANGE', networks, 0, 0)[1]
      if not network then
        redis.call('DEL', total)
        return
      end
      local member = redis.call('ZPOPMIN', entries .. network)[1]
      if member then
        local name, bytes = member:match('^(.*) (%d+)$')
        count(network, -tonumber(bytes))
        remove(name)
      else -- its entries have expired
        redis.call('DECRBY', total, redis.call('ZSCORE', networks, network))
        redis.call('ZREM', networks, network)
      end
    end
  end

  return set
end
