-- Bounds the memory of what anonymous callers store; it precedes every script of this folder.
-- `rg:unproven:<kind>:<realm>` is a sorted set of `<name> <bytes>` by instant, and
-- `rg:unproven-bytes:<kind>:<realm>` the sum of the bytes. Both expire with the entry that ends last.

local bounded = {}
local OVERHEAD = 512 -- bytes of an entry besides its text: keys, names, the entry here

-- Returns the bounded set of a kind of entries.
function bounded.set(kind, realm)
  local entries = 'rg:unproven:' .. kind .. ':' .. realm
  local total = 'rg:unproven-bytes:' .. kind .. ':' .. realm
  local set = {}

  -- Forgets an entry whose text has `length` bytes; returns its instant, nil where it has none.
  function set.remove(name, length)
    local member = name .. ' ' .. string.format('%.0f', length + OVERHEAD)
    local at = redis.call('ZSCORE', entries, member)
    if not at then return nil end
    redis.call('ZREM', entries, member)
    redis.call('DECRBY', total, length + OVERHEAD)
    return at
  end

  -- Adds an entry for `ttl` milliseconds.
  function set.add(name, length, at, ttl)
    redis.call('ZADD', entries, at, name .. ' ' .. string.format('%.0f', length + OVERHEAD))
    redis.call('INCRBY', total, length + OVERHEAD)
    if redis.call('PTTL', entries) < ttl then
      redis.call('PEXPIRE', entries, ttl)
      redis.call('PEXPIRE', total, ttl)
    end
  end

  -- Removes the oldest entries until they have at most `most` bytes; calls `remove` with each name.
  function set.make_room(most, remove)
    while tonumber(redis.call('GET', total) or 0) > most do
      local member = redis.call('ZPOPMIN', entries)[1]
      if not member then
        redis.call('DEL', total)
        return
      end
      local name, bytes = member:match('^(.*) (%d+)$')
      redis.call('DECRBY', total, bytes)
      remove(name)
    end
  end

  return set
end
