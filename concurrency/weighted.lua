-- Slots of which a lease may take several: they are read, where others are only counted. The other sections are those of slots.
--
-- $key $1 $2 $3  as there
-- $4             how many slots it takes, at least 1
-- observes how many are taken before the decision, expired leases aside.

--@check
local $n = redis.pcall('ZRANGEBYSCORE', $key, live, '+inf')
local $bad = $n.err ~= nil
if $bad then
  $n = 0
else
  local sum = 0
  for _, lease in ipairs($n) do sum = sum + (tonumber(string.match(lease, '%*(%d+)$')) or 1) end
  $n = math.min(sum, 2 ^ 53)
end
local $ok = $n + $4 <= $3 + 0
