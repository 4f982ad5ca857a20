-- One probe: does what decisions do, for nobody.
--
-- KEYS[1]  a key that nothing else uses
-- reply    Redis' time: seconds, microseconds
local time = redis.call('TIME')
redis.call('SET', KEYS[1], time[1], 'PX', 10000)
return {tonumber(time[1]), tonumber(time[2])}
