-- Sliding counter: what was used in this window and in the one before, kept with when this one began as
-- "begin before since", begin in seconds since the epoch. The weight of the previous window falls in a million
-- steps, so that counts up to 10^9 times steps are whole numbers that a double holds exactly.
--
-- $key     the three numbers; absent: nothing used. Anything else there counts as absent and is replaced.
-- $1       the cost
-- $2       the limit; of refund, when the commit was, in seconds since the epoch
-- $3       the window in seconds, which is a step in microseconds
-- observes what was used in the previous window and in this one, and how many microseconds of this one are over

--@same
$2 $3
--@observes
$p, $n, $over

--@check
local $w = tonumber($3)
local $from = sec - sec % $w
local $over = (sec - $from) * 1e6 + usec
local $p, $n, $later = 0, 0, false
local $v = redis.pcall('GET', $key)
if type($v) == 'string' then
  local from, before, since = string.match($v, '^(%d+) (%d+) (%d+)$')
  from = tonumber(from)
  if from and from >= $from then
    $p, $n, $later = tonumber(before), tonumber(since), from > $from
  elseif from and from + $w >= $from then
    $p = tonumber(since)
  end
end
local $ok = $p * (1e6 - math.floor($over / $w)) + ($n + $1) * 1e6 <= $2 * 1e6

--@mend
-- What a later window holds was used before the clock stepped back, or it would still be owed when that comes. And
-- a window that was made longer keeps its counts, or the wait that is told would not come true.
if $later then
  redis.call('SET', $key, string.format('%d %d %d', $from, $p, $n), 'PX', math.ceil(2 * $w * 1e3 - $over / 1e3) + 2)
elseif $p + $n > 0 then
  redis.call('PEXPIRE', $key, math.ceil(2 * $w * 1e3 - $over / 1e3) + 2)
end

--@commit
redis.call('SET', $key, string.format('%d %d %d', $from, $p, math.min($n + $1, 1e9)), 'PX', math.ceil(2 * $w * 1e3 - $over / 1e3) + 2)

--@refund
local $v = redis.pcall('GET', $key)
if type($v) == 'string' then
  local w, at = tonumber($3), tonumber($2)
  local now = sec - sec % w
  local from, before, since = string.match($v, '^(%d+) (%d+) (%d+)$')
  from, before, since = tonumber(from), tonumber(before), tonumber(since)
  if from and from < now then
    if from + w >= now then before, since = since, 0 else before, since = 0, 0 end
  end
  if from and at >= now then
    since = math.max(0, since - $1)
  elseif from and at >= now - w then
    before = math.max(0, before - $1)
  end
  if from and before + since > 0 then
    redis.call('SET', $key, string.format('%d %d %d', now, before, since), 'KEEPTTL')
  elseif from then
    redis.call('DEL', $key)
  end
end
