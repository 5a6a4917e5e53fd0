-- Pushed authorization requests of one realm; single_use_codes.py describes the key.
-- ARGV: operation, realm, `<client>:<reference>`, arguments of the operation.

local PREFIX = 'rg:pushed-request:' .. ARGV[2] .. ':'
local anonymous = bounded.set('pushed-request', ARGV[2])
local operations = {}

local function network_of(text)
  return text:match('^{"caller#network":"([^"]*)"') or ''
end

-- `most` is the limit of bytes of the realm's requests of public clients; 0 for a request of another
-- client, which is not counted.
function operations.add(name, text, lifespan, most)
  redis.call('SET', PREFIX .. name, text, 'PX', lifespan)
  if tonumber(most) == 0 then return end
  anonymous.add(network_of(text), name, #text, microseconds(), tonumber(lifespan))
  anonymous.make_room(tonumber(most), function(oldest) redis.call('DEL', PREFIX .. oldest) end)
end

function operations.find(name)
  return redis.call('GET', PREFIX .. name)
end

-- Replaces the text by an empty mark: of several callers at once, one gets 1.
function operations.use(name, lasts)
  local text = redis.call('GET', PREFIX .. name)
  if text == '' then return 0 end
  redis.call('SET', PREFIX .. name, '', 'PX', lasts)
  if text then anonymous.remove(network_of(text), name, #text) end
  return 1
end

return operations[ARGV[1]](unpack(ARGV, 3))
