-- Ahead of a heartbeat's script, and by itself on each master of a cluster: refuses if the user may not do all that docs/redis.md says. Scripts take what they may not read
-- for absent, as they do with what is no state of theirs, so for a user without GET each token bucket would be full; and a user
-- without EVAL decides until Redis has forgotten the scripts.
--
-- KEYS     the last one is a key that the user may read and write
-- reply    the error FORBIDDEN; otherwise that of the script behind it
local forbidden, key = nil, KEYS[#KEYS]
-- Each with all its arguments: Redis 7.0 looks for keys where there is nothing, and Redis 8 counts them. A server that cannot
-- answer this is not asked.
for _, call in ipairs({
  {'EVAL', 'return 1', '1', key}, {'EVALSHA', string.rep('0', 40), '1', key}, {'SCRIPT', 'LOAD', 'return 1'},
  {'GET', key}, {'SET', key, '1'}, {'MGET', key}, {'DEL', key}, {'TYPE', key}, {'PEXPIRE', key, '1'}, {'PTTL', key},
  {'HSET', key, 'f', '1'}, {'HDEL', key, 'f'}, {'HGETALL', key},
  {'ZADD', key, '1', 'm'}, {'ZREM', key, 'm'}, {'ZSCORE', key, 'm'}, {'ZCOUNT', key, '0', '1'}, {'ZRANGE', key, '0', '1'},
  {'ZRANGEBYSCORE', key, '0', '1'}, {'ZREMRANGEBYSCORE', key, '0', '1'}, {'ZINCRBY', key, '1', 'm'},
}) do
  local answered, allowed = pcall(redis.acl_check_cmd, unpack(call))
  if answered and not allowed then
    forbidden = redis.error_reply('FORBIDDEN this user may not call ' .. call[1] .. ', which Seawall needs, see docs/redis.md')
    break
  end
end
if forbidden then return forbidden end
