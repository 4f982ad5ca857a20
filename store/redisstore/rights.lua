-- Ahead of a heartbeat's script: refuses if the user may not call what scripts ask for with pcall. They take what they cannot
-- read for absent, as they do with what is no state of theirs, so for a user without GET each token bucket would be full.
--
-- KEYS[4]  a key that the user may read: the secret, or instances would never agree on one
-- reply    the error UNREADABLE; otherwise that of the script behind it
for _, command in ipairs({'GET', 'HGETALL', 'ZCOUNT', 'ZRANGE', 'ZRANGEBYSCORE', 'ZREM'}) do
  if not redis.acl_check_cmd(command, KEYS[4]) then
    return redis.error_reply('UNREADABLE this user may not call ' .. command .. ', which scripts need, see docs/redis.md')
  end
end
