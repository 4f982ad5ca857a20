local time = redis.call('TIME')
local sec, usec = tonumber(time[1]), tonumber(time[2])
local hi = math.floor(sec / 1e6)
local lo = (sec - hi * 1e6) * 1e9 + usec * 1e3
local ms = sec * 1e3 + math.floor(usec / 1e3)
local tick = usec % 64 == 0
