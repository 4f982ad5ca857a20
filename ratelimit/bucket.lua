-- Token bucket, kept as its theoretical arrival time: when it will be full again, in nanoseconds since the
-- epoch, as a decimal of 19 digits (which Redis keeps as an integer). A double is exact to 2^53 only, so the
-- number is read, compared and written as two limbs of 10^15: hi and lo are those of now.
--
-- $key     the arrival time; absent: full. Anything else there counts as absent and is replaced.
-- $1 $2    what the cost takes, in ns: limbs. More than $3 $4 if it can never fit.
-- $3 $4    what the whole burst takes, in ns: limbs.
-- $5       $3 $4 in ms, rounded up, and 2 more, as Redis counts it from the start of the millisecond in which
--          the script began: after it an untouched bucket is full.
-- Of refund, $1 $2 is what to give back, in ns: limbs.
-- observes the debt, arrival time - now, before the decision: limbs; at most $3 $4.

--@observes
$nh, $nl
--@check
local $v = redis.pcall('GET', $key)
local $nh, $nl = 0, 0
local $fh, $fl = tonumber($3), tonumber($4)
if type($v) == 'string' then
  local h, l = tonumber(string.sub($v, 1, -16)), tonumber(string.sub($v, -15))
  if h and l and l >= 0 and (h > hi or h == hi and l > lo) then
    $nh, $nl = h - hi, l - lo
    if $nl < 0 then $nh, $nl = $nh - 1, $nl + 1e15 end
    if $nh > $fh or $nh == $fh and $nl > $fl then $nh, $nl = $fh, $fl end
  end
end
local $sh, $sl = $nh + $1, $nl + $2
if $sl >= 1e15 then $sh, $sl = $sh + 1, $sl - 1e15 end
local $ok = $sh < $fh or $sh == $fh and $sl <= $fl

--@mend
-- What was cut stays cut, or the caller would owe it as long as the uncut debt lasts.
if $nh == $fh and $nl == $fl then
  local h, l = hi + $nh, lo + $nl
  if l >= 1e15 then h, l = h + 1, l - 1e15 end
  redis.call('SET', $key, string.format('%d%015d', h, l), 'PX', $5)
end

--@commit
local h, l = hi + $sh, lo + $sl
if l >= 1e15 then h, l = h + 1, l - 1e15 end
redis.call('SET', $key, string.format('%d%015d', h, l), 'PX', $5)

--@refund
local $v = redis.pcall('GET', $key)
if type($v) == 'string' and string.find($v, '^%d+$') and #$v > 15 then
  local $h, $l = string.sub($v, 1, -16) - $1, string.sub($v, -15) - $2
  if $l < 0 then $h, $l = $h - 1, $l + 1e15 end
  if $h > hi or $h == hi and $l > lo then
    redis.call('SET', $key, string.format('%d%015d', $h, $l), 'KEEPTTL')
  else
    redis.call('DEL', $key)
  end
end
