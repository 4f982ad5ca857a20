-- The prelude of tests: the clock is the last two arguments, and keys outlive it by an hour, since Redis
-- expires them by its own.
local real = redis
local redis = {pcall = real.pcall, call = function(cmd, ...)
  local args = {...}
  if cmd == 'SET' and args[3] == 'PX' then args[4] = args[4] + 3600000 end
  if cmd == 'PEXPIRE' then args[2] = args[2] + 3600000 end
  return real.call(cmd, unpack(args))
end}
local sec, usec = tonumber(ARGV[#ARGV - 1]), tonumber(ARGV[#ARGV])
local tick = false
