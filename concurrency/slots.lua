-- Slots: a sorted set of leases, scored by when they expire, in milliseconds of Redis' clock.
--
-- $key     the set; the key outlives its last lease by nothing. Anything else there counts as absent and is
--          replaced.
-- $1       the lease: its instance's id and a number; of one that takes several slots also '*' and how many. Here each counts
--          as one.
-- $2       its TTL in ms
-- $3       how many slots there are
-- observes how many are taken before the decision, expired leases aside.
-- Of releases, $1 are leases; of renew, $1 and $2 are the same. An error would hold up the others of their batch. A renewal
-- does not mind whether the lease is still there: after a loss of data it brings it back, and counts it in lost.

--@same
$2 $3
--@observes
$n
--@check
local $n = redis.pcall('ZCOUNT', $key, live, '+inf')
local $bad = type($n) ~= 'number'
if $bad then $n = 0 end
local $ok = $n < $3 + 0

--@mend
-- A lease that outlives its TTL stems from before the clock stepped back.
local late = $bad and {} or redis.call('ZRANGEBYSCORE', $key, '(' .. ms + $2, '+inf', 'LIMIT', 0, 1000)
for _, lease in ipairs(late) do redis.call('ZADD', $key, ms + $2, lease) end

--@commit
if $bad then redis.call('DEL', $key) end
if ttl ~= $2 then ttl, expires = $2, string.format('%d', ms + $2) end
redis.call('ZADD', $key, expires, $1)
redis.call('PEXPIRE', $key, $2)
if tick then redis.call('ZREMRANGEBYSCORE', $key, 0, ms) end -- below zero are those who wait for a slot

--@releases
local gone = redis.pcall('ZREM', $key, $1)
if type(gone) == 'table' and not string.find(gone.err, 'WRONGTYPE', 1, true) then return gone end

--@renew
local kept = redis.call('TYPE', $key).ok
if kept ~= 'zset' and kept ~= 'none' then redis.call('DEL', $key) end
local expiry = redis.call('ZSCORE', $key, $1)
if not expiry or tonumber(expiry) <= ms then lost = lost + 1 end
if ttl ~= $2 then ttl, expires = $2, string.format('%d', ms + $2) end
redis.call('ZADD', $key, expires, $1)
redis.call('PEXPIRE', $key, $2)
