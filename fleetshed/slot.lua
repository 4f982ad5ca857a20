-- A slot of the fleet: a lease whose cap is a share of the fleet's capacity. The other sections are the
-- lease's.
--
-- $key      the set of leases
-- $1 $2     the lease and its TTL in ms
-- $3        how many slots ordinary requests may hold, as the instance last saw the fleet
-- $4        the reserve in parts per million; a million, which no reserve is, if $3 is fixed
-- $capacity what the fleet announces, or no number; read only before refusing, unless $3 is fixed
-- observes how many are taken before the decision, expired ones aside.

--@observes
$n
--@check
local $n = redis.pcall('ZCOUNT', $key, '(' .. ms, '+inf')
local $bad = type($n) ~= 'number'
if $bad then $n = 0 end
local $ok = $n < tonumber($3)
if not $ok and $4 ~= '1000000' then
  local total = tonumber($capacity)
  $ok = total ~= nil and $n < total - math.ceil(total * $4 / 1e6)
end

