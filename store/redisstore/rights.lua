-- Ahead of a heartbeat's script: refuses if the user may not do all that docs/redis.md says. Scripts take what they may not read
-- for absent, as they do with what is no state of theirs, so for a user without GET each token bucket would be full; and a user
-- without EVAL decides until Redis has forgotten the scripts.
--
-- KEYS[4]  a key that the user may read and write
-- reply    the error FORBIDDEN; otherwise that of the script behind it
local forbidden
-- Each with all its arguments: Redis 7.0 looks for keys where there is nothing, and Redis 8 counts them. A server that cannot
-- answer this is not asked.
for _, call in ipairs({
  {'EVAL', 'return 1', '1', KEYS[4]}, {'EVALSHA', string.rep('0', 40), '1', KEYS[4]}, {'SCRIPT', 'LOAD', 'return 1'},
  {'GET', KEYS[4]}, {'SET', KEYS[4], '1'}, {'MGET', KEYS[4]}, {'DEL', KEYS[4]}, {'TYPE', KEYS[4]}, {'PEXPIRE', KEYS[4], '1'}, {'PTTL', KEYS[4]},
  {'HSET', KEYS[4], 'f', '1'}, {'HDEL', KEYS[4], 'f'}, {'HGETALL', KEYS[4]},
  {'ZADD', KEYS[4], '1', 'm'}, {'ZREM', KEYS[4], 'm'}, {'ZSCORE', KEYS[4], 'm'}, {'ZCOUNT', KEYS[4], '0', '1'}, {'ZRANGE', KEYS[4], '0', '1'},
  {'ZRANGEBYSCORE', KEYS[4], '0', '1'}, {'ZREMRANGEBYSCORE', KEYS[4], '0', '1'}, {'ZINCRBY', KEYS[4], '1', 'm'},
}) do
  local answered, allowed = pcall(redis.acl_check_cmd, unpack(call))
  if answered and not allowed then
    forbidden = redis.error_reply('FORBIDDEN this user may not call ' .. call[1] .. ', which Seawall needs, see docs/redis.md')
    break
  end
end
if forbidden then return forbidden end
