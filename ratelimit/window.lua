-- Fixed window: what was used since the last boundary of a calendar, kept with when that was as one negative
-- number, -(begin in seconds since the epoch · 10^9 + used - 1), which Redis keeps as an integer and no
-- bucket's script takes for a bucket. It is larger than a double is exact to, so it is read and written as text.
--
-- $key         the number; absent: nothing used. Anything else there counts as absent and is replaced.
-- $1           the cost
-- $2           the limit; of refund, when the commit was, in seconds since the epoch
-- $3 $4 $5 $6  four boundaries in a row, in seconds; Redis' clock picks its window among them, and if it is
--              in none, the caller's clock is too wrong and it is told so
-- observes what was used, and how many microseconds are left of the window

--@same
$2 $3 $4 $5 $6
--@observes
$n, $left

--@check
local $from, $to = tonumber($4), tonumber($5)
if sec < $from then $from, $to = tonumber($3), $from elseif sec >= $to then $from, $to = $to, tonumber($6) end
if sec < $from or sec >= $to then missed = true end
local $n, $left = 0, ($to - sec) * 1e6 - usec
local $later = false
local $v = redis.pcall('GET', $key)
if type($v) == 'string' then
  local from, used = string.match($v, '^%-(%d+)(%d%d%d%d%d%d%d%d%d)$')
  from = tonumber(from)
  if from and from >= $from then
    $n, $later = tonumber(used) + 1, from > $from
  end
end
local $ok = $n + $1 <= tonumber($2)

--@mend
-- What a later window holds was used before the clock stepped back, or it would still be owed when that comes. And
-- a window that was made longer keeps its count, or the wait that is told would not come true.
if $later then
  redis.call('SET', $key, string.format('-%d%09d', $from, $n - 1), 'PX', math.ceil($left / 1e3) + 2)
elseif $n > 0 then
  redis.call('PEXPIRE', $key, math.ceil($left / 1e3) + 2)
end

--@commit
redis.call('SET', $key, string.format('-%d%09d', $from, math.min($n + $1, 1e9) - 1), 'PX', math.ceil($left / 1e3) + 2)

--@refund
local $from = tonumber($4)
if sec < $from then $from = tonumber($3) elseif sec >= tonumber($5) then $from = tonumber($5) end
local $v = redis.pcall('GET', $key)
if type($v) == 'string' and sec < tonumber($6) and tonumber($2) >= $from then
  local from, used = string.match($v, '^%-(%d+)(%d%d%d%d%d%d%d%d%d)$')
  if tonumber(from) == $from then
    local n = tonumber(used) + 1 - $1
    if n > 0 then
      redis.call('SET', $key, string.format('-%d%09d', $from, n - 1), 'KEEPTTL')
    else
      redis.call('DEL', $key)
    end
  end
end
