-- One heartbeat: announces an instance, or takes it out, and publishes the capacity of all that are alive.
--
-- That is the sum of their workers. If some have gone silent, it is at least half of what was published at any moment of
-- the last TTL, so however many are lost at once, it shrinks by half a TTL until it is the sum again. What a live
-- instance takes out itself, when it leaves or joins anew with fewer workers, lowers the capacity and this bound by as
-- much, at once.
--
-- KEYS[1]  members: a hash, instance id -> "expiry in ms:workers:slots held"
-- KEYS[2]  capacity: the number that is published, for scripts that must know it exactly
-- KEYS[3]  floors: "half of a former capacity:until when it was published, in ms", of all that still bind, the oldest and
--          highest first. Absent unless instances have gone silent.
-- KEYS[4]  secret: 64 hexadecimal digits that all instances key their hashes of callers with. Set where it is absent or not
--          of that form, and kept for 30 days after the last instance has gone.
-- ARGV     id, workers, slots held, TTL in ms, 1 to announce the instance or 0 to take it out, until when an
--          announcement may run, in µs of Redis' clock, and the capacity that the instance knows, which stands in for one
--          that Redis has lost; 0 is none. Then the instance's secret.
-- reply    instances, capacity, slots held, of all that are alive; 1 if this instance was among them already; how
--          many of the others come before it; Redis' time in seconds and microseconds; the secret. No instances if an announcement runs too late; then nothing has changed.
local time = redis.call('TIME')
local ms = time[1] * 1e3 + math.floor(time[2] / 1e3)
local id, ttl, here = ARGV[1], tonumber(ARGV[4]), ARGV[5] == '1'
if here and time[1] * 1e6 + time[2] > tonumber(ARGV[6]) then
  return {0, 0, 0, 0, 0, tonumber(time[1]), tonumber(time[2]), ARGV[8]}
end
local all = redis.pcall('HGETALL', KEYS[1])
if all.err then -- not a hash
  redis.call('DEL', KEYS[1])
  all = {}
end
local gone = {}
local instances, workers, held, known, before, taken = 0, 0, 0, 0, 0, 0
for i = 1, #all, 2 do
  local expiry, w, h = string.match(all[i + 1], '^(%d+):(%d+):(%d+)$')
  if not expiry or tonumber(expiry) <= ms or #w > 12 or #h > 12 then
    gone[#gone + 1] = all[i]
  elseif all[i] == id then
    known, taken = 1, math.max(0, w - (here and ARGV[2] or 0))
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

-- A capacity was published until now. Both keys count as absent unless they are text of the right form.
local published, floors = unpack(redis.call('MGET', KEYS[2], KEYS[3]), 1, 2)
local was = published and #published <= 15 and tonumber(string.match(published, '^%d+$'))
if not was and here then was, floors = tonumber(ARGV[7]), false end
local past, capacity = {}, workers
if was then
  for floor, at in string.gmatch(floors or '', '(%d+):(%d+)') do
    floor, at = tonumber(floor), math.min(tonumber(at), ms) -- the clock may have stepped back
    if floor <= was and at + ttl > ms then
      if #past < 64 then past[#past + 1] = {floor = floor} end -- more make the last one last longer
      past[#past].at = at
    end
  end
  past[#past + 1] = {floor = math.ceil(was / 2), at = ms}
end
for _, p in ipairs(past) do
  p.floor = p.floor - taken
  capacity = math.max(capacity, p.floor)
end
local binding = {}
for _, p in ipairs(past) do -- what is no higher than the new capacity's own floor binds no longer than that one
  if p.floor > math.ceil(capacity / 2) then binding[#binding + 1] = string.format('%.0f:%.0f', p.floor, p.at) end
end
-- They outlive all heartbeats, or the first after a silence would find nothing that binds.
redis.call('SET', KEYS[2], string.format('%.0f', capacity), 'PX', 3 * ttl)
if #binding > 0 then
  redis.call('SET', KEYS[3], table.concat(binding, ' '), 'PX', 3 * ttl)
else
  redis.call('DEL', KEYS[3])
end

local secret = redis.pcall('GET', KEYS[4])
if type(secret) ~= 'string' or #secret ~= 64 or string.find(secret, '[^0-9a-f]') then secret = ARGV[8] end
if here then redis.call('SET', KEYS[4], secret, 'PX', 30 * 86400e3) end
return {instances, capacity, held, known, before, tonumber(time[1]), tonumber(time[2]), secret}
