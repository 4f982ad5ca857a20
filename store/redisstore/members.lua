-- One heartbeat: announces an instance, or takes it out, and sums up all that are alive.
--
-- KEYS[1]  members: a hash, instance id -> "expiry in ms:workers:slots held"
-- KEYS[2]  capacity: the sum of the workers, for scripts that must know it exactly
-- ARGV     id, workers, slots held, TTL in ms, 1 to announce the instance or 0 to take it out, and until when an
--          announcement may run, in µs of Redis' clock
-- reply    instances, workers, slots held, of all that are alive; 1 if this instance was among them already; how
--          many of the others come before it; Redis' time in seconds and microseconds. No instances if an
--          announcement runs too late; then nothing has changed.
local time = redis.call('TIME')
local ms = time[1] * 1e3 + math.floor(time[2] / 1e3)
local id, ttl, here = ARGV[1], tonumber(ARGV[4]), ARGV[5] == '1'
if here and time[1] * 1e6 + time[2] > tonumber(ARGV[6]) then
  return {0, 0, 0, 0, 0, tonumber(time[1]), tonumber(time[2])}
end
local all = redis.pcall('HGETALL', KEYS[1])
if all.err then -- not a hash
  redis.call('DEL', KEYS[1])
  all = {}
end
local gone = {}
local instances, workers, held, known, before = 0, 0, 0, 0, 0
for i = 1, #all, 2 do
  local expiry, w, h = string.match(all[i + 1], '^(%d+):(%d+):(%d+)$')
  if not expiry or tonumber(expiry) <= ms or #w > 12 or #h > 12 then
    gone[#gone + 1] = all[i]
  elseif all[i] == id then
    known = 1
  else
    instances, workers, held = instances + 1, workers + w, held + h
    if all[i] < id then before = before + 1 end
    if tonumber(expiry) > ms + ttl then -- stems from before the clock stepped back
      redis.call('HSET', KEYS[1], all[i], string.format('%.0f:%s:%s', ms + ttl, w, h))
    end
  end
end
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone, 1, math.min(#gone, 1000))) end
if here then
  instances, workers, held = instances + 1, workers + ARGV[2], held + ARGV[3]
  redis.call('HSET', KEYS[1], id, string.format('%.0f:%s:%s', ms + ttl, ARGV[2], ARGV[3]))
  redis.call('PEXPIRE', KEYS[1], ttl)
else
  redis.call('HDEL', KEYS[1], id)
end
redis.call('SET', KEYS[2], string.format('%.0f', workers), 'PX', ttl)
return {instances, workers, held, known, before, tonumber(time[1]), tonumber(time[2])}
