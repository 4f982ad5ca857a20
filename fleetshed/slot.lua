-- A slot of the fleet: a lease whose cap is a share of the fleet's capacity. The other sections are the
-- lease's.
--
-- $key      the set of leases
-- $1 $2     the lease and its TTL in ms
-- $3        how many slots ordinary requests may hold, as the instance last saw the fleet
-- $4        the reserve in parts per million; a million, which no reserve is, if $3 is fixed
-- $capacity what the fleet announces, or no number; read only before refusing, unless $3 is fixed
-- observes how many are taken before the decision, expired ones aside.

--@same
$2 $3 $4
--@observes
$n
--@check
-- The requests of a call are all for this key: what they take is counted on, and written once.
local $n, $bad = counts, false
if counted ~= $key then
  $n = redis.pcall('ZCOUNT', $key, live, '+inf')
  $bad = type($n) ~= 'number'
  if $bad then $n = 0 end
end
local $ok = $n < $3 + 0
if not $ok and $4 ~= '1000000' then
  local total = tonumber($capacity)
  $ok = total ~= nil and $n < total - math.ceil(total * $4 / 1e6)
end

--@commit
if $bad then redis.call('DEL', $key) end
if ttl ~= $2 then ttl, expires = $2, string.format('%d', ms + $2) end
redis.call('ZADD', $key, expires, $1)
redis.call('PEXPIRE', $key, $2)
if tick then redis.call('ZREMRANGEBYSCORE', $key, 0, ms) end

--@gather
if $bad then redis.call('DEL', $key) end
if ttl ~= $2 then ttl, expires = $2, string.format('%d', ms + $2) end
if into ~= $key then add() end
members[#members + 1], members[#members + 2] = expires, $1
into, lasts = $key, $2
counted, counts = $key, $n + 1
if tick then redis.call('ZREMRANGEBYSCORE', $key, 0, ms) end
