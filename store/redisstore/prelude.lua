local time = redis.call('TIME')
local sec, usec = tonumber(time[1]), tonumber(time[2])
