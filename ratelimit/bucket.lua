-- Token bucket, kept as its theoretical arrival time: when it will be full again, in nanoseconds since the
-- epoch, as a decimal of 19 digits (which Redis keeps as an integer). A double is exact to 2^53 only, so the
-- number is read, compared and written as two limbs of 10^15: hi and lo are those of now.
--
-- $key     the arrival time; absent: full. Anything else there counts as absent and is replaced.
-- $1       what the cost takes, in ns. More than $2 if it can never fit.
-- $2       what the whole burst takes, in ns.
-- $3       $2 in ms, rounded up, and 2 more, as Redis counts it from the start of the millisecond in which
--          the script began: after it an untouched bucket is full.
-- Of refund, $1 $2 is what the cost took, and $3 $4 when that was, in ns since the epoch: limbs. What has refilled
-- since is not given back.
-- observes the debt, arrival time - now, before the decision: limbs; at most $2.

--@same
$2 $3
--@observes
$nh, $nl
--@check
local $v = redis.pcall('GET', $key)
local $nh, $nl = 0, 0
local $fh, $fl = 0, $2 + 0
if $fl >= 1e15 then $fh, $fl = tonumber(string.sub($2, 1, -16)), tonumber(string.sub($2, -15)) end
if $v and type($v) == 'string' then
  local h, l = tonumber(string.sub($v, 1, -16)), tonumber(string.sub($v, -15))
  if h and l and l >= 0 and (h > hi or h == hi and l > lo) then
    $nh, $nl = h - hi, l - lo
    if $nl < 0 then $nh, $nl = $nh - 1, $nl + 1e15 end
    if $nh > $fh or $nh == $fh and $nl > $fl then $nh, $nl = $fh, $fl end
  end
end
local $sh, $sl = $nh, $nl + $1
if $1 + 0 >= 1e15 then $sh, $sl = $nh + string.sub($1, 1, -16), $nl + string.sub($1, -15) end
if $sl >= 1e15 then $sh, $sl = $sh + 1, $sl - 1e15 end
local $ok = $sh < $fh or $sh == $fh and $sl <= $fl
if not $ok then $sh, $sl = $fh, $fl end -- what is only counted owes a full bucket at most

--@mend
-- What was cut stays cut, or the caller would owe it as long as the uncut debt lasts.
if $nh == $fh and $nl == $fl then
  local h, l = hi + $nh, lo + $nl
  if l >= 1e15 then h, l = h + 1, l - 1e15 end
  redis.call('SET', $key, string.format('%d%015d', h, l), 'PX', $3)
end

--@commit
local h, l = hi + $sh, lo + $sl
if l >= 1e15 then h, l = h + 1, l - 1e15 end
redis.call('SET', $key, string.format('%d%015d', h, l), 'PX', $3)

--@refund
local $v = redis.pcall('GET', $key)
if type($v) == 'string' and string.find($v, '^%d+$') and #$v > 15 then
  local ageh, agel = hi - $3, lo - $4
  if agel < 0 then ageh, agel = ageh - 1, agel + 1e15 end
  if ageh < 0 then ageh, agel = 0, 0 end
  local backh, backl = $1 - ageh, $2 - agel
  if backl < 0 then backh, backl = backh - 1, backl + 1e15 end
  if backh < 0 then backh, backl = 0, 0 end
  local fullh, fulll = tonumber(string.sub($v, 1, -16)), tonumber(string.sub($v, -15))
  local h, l = fullh - backh, fulll - backl
  if l < 0 then h, l = h - 1, l + 1e15 end
  if h > hi or h == hi and l > lo then
    redis.call('SET', $key, string.format('%d%015d', h, l), 'KEEPTTL')
  elseif fullh > hi or fullh == hi and fulll > lo then
    redis.call('DEL', $key)
  end
end
