-- Sliding log: a sorted set with one member per request of the last window, "cost:id", scored by when it was in
-- microseconds since the epoch, and the member "t", scored by what they cost together, negated, so that it
-- comes first.
--
-- $key     the set; absent: nothing used. Anything else there counts as absent and is replaced.
-- $1       the cost
-- $2       the limit
-- $3       the window in microseconds
-- $4       the request: its instance's id and a number
-- observes what is used, and in how many microseconds more will remain, the cost will fit, and all will have left
-- (0 if they have or it does)
--
-- The check forgets what has left the window, and counts what lies in the future, from before the clock stepped
-- back, as of now.

--@same
$2 $3
--@observes
$n, $next, $wait, $reset

--@check
local $n, $next, $wait, $reset, $bad = 0, 0, 0, 0, false
do
  local now, w = sec * 1e6 + usec, tonumber($3)
  local first = redis.pcall('ZRANGE', $key, 0, 1, 'WITHSCORES')
  $bad = first.err ~= nil or #first == 2 or #first > 2 and (first[1] ~= 't' or first[2] + 0 < -1e15 or first[2] + 0 > 0)
  if not $bad and #first > 0 then
    $n = -first[2]
    local last = redis.call('ZRANGE', $key, -1, -1, 'WITHSCORES')[2]
    if tonumber(last) > now then
      for _, late in ipairs(redis.call('ZRANGEBYSCORE', $key, now + 1, '+inf')) do redis.call('ZADD', $key, now, late) end
      last = now
    end
    local oldest = math.min(first[4], now)
    if oldest <= now - w then
      oldest = nil
      for _, gone in ipairs(redis.call('ZRANGEBYSCORE', $key, 0, now - w)) do $n = $n - (string.match(gone, '^%d+') or 0) end
      redis.call('ZREMRANGEBYSCORE', $key, 0, now - w)
      if $n > 0 then redis.call('ZADD', $key, -$n, 't') else redis.call('DEL', $key) end
    end
    if $n > 0 then
      $reset = last + w - now
      local more, fit = math.max($n - $2, 0) + 1, 0
      if $1 + 0 <= $2 + 0 then fit = math.max($n + $1 - $2, 0) end
      local left, at, some = 0, 1, 1 -- by rank, which is found in logarithmic time; "t" has rank 0
      if fit > 0 then some = 64 end
      if oldest and more == 1 and fit == 0 then
        $next, left = oldest + w - now, more
      end
      while left < more or left < fit do
        local old = redis.call('ZRANGE', $key, at, at + some - 1, 'WITHSCORES')
        if #old == 0 then break end
        for i = 1, #old, 2 do
          left = left + (string.match(old[i], '^%d+') or 0)
          local leaves = old[i + 1] + w - now
          if $next == 0 and left >= more then $next = leaves end
          if $wait == 0 and fit > 0 and left >= fit then $wait = leaves end
        end
        at, some = at + some, 64
      end
    end
  end
end
local $ok = $n + $1 <= tonumber($2)

--@mend
-- A window that was made longer keeps what it still needs, or the wait that was told would not come true.
if $n > 0 then redis.call('PEXPIRE', $key, math.ceil($reset / 1e3) + 2) end

--@commit
if $bad then redis.call('DEL', $key) end
redis.call('ZADD', $key, -($n + $1), 't', sec * 1e6 + usec, $1 .. ':' .. $4)
redis.call('PEXPIRE', $key, math.ceil($3 / 1e3) + 2)

--@refund
local total = redis.pcall('ZREM', $key, $1 .. ':' .. $4)
if total == 1 and tonumber(redis.call('ZINCRBY', $key, $1, 't')) >= 0 then redis.call('DEL', $key) end
