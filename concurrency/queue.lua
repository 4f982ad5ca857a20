-- Slots with a line in front of them: who waits is served in the order in which the waiting began, whichever instance
-- it waits at. The line is in the same set, with negative scores: until when a waiter stands in it without asking
-- again, in milliseconds of Redis' clock. The other sections are those of slots.
--
-- $key $1 $2 $3  as there
-- $4             how many slots it takes, at least 1
-- $5             who waits; empty is somebody who does not, and is behind all who do
-- $6             for how long it has waited, in ms
-- $7             for how long anybody stands in line without asking again, in ms
-- observes how many are taken or waited for by those ahead, and by those ahead alone.

--@same
$2 $3 $7
--@observes
$n, $before
--@check
local $n, $before, $place, $since = 0, 0, false, ms - $6
local $leases = redis.pcall('ZRANGEBYSCORE', $key, live, '+inf')
local $bad = $leases.err ~= nil
if not $bad then
  for _, lease in ipairs($leases) do $n = $n + (tonumber(string.match(lease, '%*(%d+)$')) or 1) end
  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', $key, -ms - $7, '(-' .. ms)) do
    local since, name, takes = string.match(waiter, '^(%d+) (%S+) (%d+)$')
    since = tonumber(since)
    if name == $5 then
      $place = waiter
    elseif since and ($5 == '' or since < $since or since == $since and name < $5) then
      $before = $before + takes
    end
  end
  $before = math.min($before, 2 ^ 53)
  $n = math.min($n + $before, 2 ^ 53)
end
local $ok = $n + $4 <= tonumber($3)

--@mend
-- A lease that outlives its TTL stems from before the clock stepped back.
local late = $bad and {} or redis.call('ZRANGEBYSCORE', $key, '(' .. ms + $2, '+inf', 'LIMIT', 0, 1000)
for _, lease in ipairs(late) do redis.call('ZADD', $key, ms + $2, lease) end
if $5 ~= '' and not $bad and tonumber($4) <= tonumber($3) then
  if $place then redis.call('ZREM', $key, $place) end
  redis.call('ZREMRANGEBYSCORE', $key, '-inf', '(' .. -ms - $7)
  redis.call('ZREMRANGEBYSCORE', $key, -ms, '(0')
  redis.call('ZADD', $key, -ms - $7, string.format('%.0f %s %s', $since, $5, $4))
  if redis.call('PTTL', $key) < tonumber($7) then redis.call('PEXPIRE', $key, $7) end
end

--@commit
if $bad then redis.call('DEL', $key) end
if $place then redis.call('ZREM', $key, $place) end
redis.call('ZREMRANGEBYSCORE', $key, '-inf', '(' .. -ms - $7)
redis.call('ZREMRANGEBYSCORE', $key, -ms, '(0')
if ttl ~= $2 then ttl, expires = $2, string.format('%d', ms + $2) end
redis.call('ZADD', $key, expires, $1)
redis.call('PEXPIRE', $key, $2)
if tick then redis.call('ZREMRANGEBYSCORE', $key, 0, ms) end

--@refund
local waiters = redis.pcall('ZRANGEBYSCORE', $key, '-inf', '(0')
for _, waiter in ipairs(waiters) do
  if string.match(waiter, '^%d+ (%S+) ') == $5 then redis.call('ZREM', $key, waiter) end
end
