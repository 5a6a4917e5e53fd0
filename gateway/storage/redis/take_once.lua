-- Returns the value of a key and deletes it: of several callers at once, one gets it.
-- ARGV: the key. Redis 6.0 has no GETDEL.
local value = redis.call('GET', ARGV[1])
if value then
  redis.call('DEL', ARGV[1])
end
return value
