-- Ahead of a heartbeat's script: refuses if the user may not do all that docs/redis.md says. Scripts take what they may not read
-- for absent, as they do with what is no state of theirs, so for a user without GET each token bucket would be full; and a user
-- without EVAL decides until Redis has forgotten the scripts.
--
-- KEYS[4]  a key that the user may read and write
-- reply    the error FORBIDDEN; otherwise that of the script behind it
local function need(command, ...)
  if not redis.acl_check_cmd(command, ...) then
    return redis.error_reply('FORBIDDEN this user may not call ' .. command .. ', which Seawall needs, see docs/redis.md')
  end
end
-- With all their arguments, or Redis 7.0 looks for keys where there is nothing.
local forbidden = need('EVAL', 'return 1', '1', KEYS[4]) or need('EVALSHA', string.rep('0', 40), '1', KEYS[4])
  or need('SCRIPT', 'LOAD', 'return 1')
for _, command in ipairs({
  'GET', 'SET', 'MGET', 'DEL', 'TYPE', 'PEXPIRE', 'PTTL', 'HSET', 'HDEL', 'HGETALL', 'ZADD', 'ZREM', 'ZSCORE', 'ZCOUNT', 'ZRANGE',
  'ZRANGEBYSCORE', 'ZREMRANGEBYSCORE', 'ZINCRBY',
}) do
  forbidden = forbidden or need(command, KEYS[4])
end
if forbidden then return forbidden end
