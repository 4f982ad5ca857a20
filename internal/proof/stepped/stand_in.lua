-- The clock, and when which key expires, lie in two hashes. Redis itself lets no key expire.
local real, now = redis, redis.call('HMGET', 'CLOCK', 'sec', 'usec')
local millis = now[1] * 1000 + math.floor(now[2] / 1000)
local obeys = redis.call('HGET', 'CLOCK', 'obeys') == '1'
local function due(key, after)
  if after + 0 < 1 then error('ERR invalid expire time') end
  real.call('HSET', 'CLOCK:due', key, string.format('%.0f', millis + after))
end
local function gone(key)
  real.call('HDEL', 'CLOCK:due', key)
  return real.call('DEL', key)
end
for _, key in ipairs(KEYS) do
  local at = real.call('HGET', 'CLOCK:due', key)
  if obeys and at and tonumber(at) <= millis then gone(key) end
end
local redis = {pcall = real.pcall, call = function(command, key, ...)
  local rest = {...}
  if command == 'TIME' then return now end
  if command == 'DEL' then return gone(key) end
  if command == 'PEXPIRE' then return due(key, rest[1]) end
  if command == 'SET' and rest[2] == 'PX' then
    due(key, rest[3])
    return real.call('SET', key, rest[1])
  end
  return real.call(command, key, ...)
end}
