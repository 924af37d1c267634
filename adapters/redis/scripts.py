"""The atomic updates of working memory, as Lua scripts in Redis."""

# Whoever saves progress puts this member into the index, which no session has and which never ends: an index without
# sessions still exists.
_KEEP_INDEX = """
local function keep(index) redis.call('ZADD', index, '+inf', '') end
"""

# Without its index nobody would miss a session that is gone as well. So the progress goes too, and all that was in the
# index is rebuilt.
_LOST_INDEX = """
local function lost(progress, index, total)
  if redis.call('EXISTS', index) == 1 or redis.call('EXISTS', progress) == 0 then return false end
  redis.call('DEL', progress, total)
  return true
end
"""

# KEYS: progress, quiet, index, total, one per session; a session with an empty blob is deleted. ARGV: number of
# streams; field, expected and new for each; blob and expiry for each session; now, prefix. Sessions whose progress was
# lost, as after an eviction, are of no known moment: they are deleted, so that no turn is applied to them twice.
SAVE = f"""{_KEEP_INDEX}{_LOST_INDEX}
local streams = tonumber(ARGV[1])
if redis.call('EXISTS', KEYS[2]) == 1 or lost(KEYS[1], KEYS[3], KEYS[4]) then return 0 end
if redis.call('EXISTS', KEYS[1]) == 0 then
  local names = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '(+inf')
  for _, name in ipairs(names) do redis.call('DEL', ARGV[#ARGV] .. name) end
  redis.call('DEL', KEYS[3], KEYS[4])
  if #names > 0 then return 0 end
end
for i = 0, streams - 1 do
  if (redis.call('HGET', KEYS[1], ARGV[3 * i + 2]) or '0') ~= ARGV[3 * i + 3] then return 0 end
end
for i = 0, streams - 1 do
  redis.call('HSET', KEYS[1], ARGV[3 * i + 2], ARGV[3 * i + 4])
  if redis.call('EXISTS', KEYS[4]) == 1 then redis.call('INCRBY', KEYS[4], ARGV[3 * i + 4] - ARGV[3 * i + 3]) end
end
for i = 5, #KEYS do
  local at = 3 * streams + 2 * (i - 5) + 2
  local name = string.sub(KEYS[i], #ARGV[#ARGV] + 1)
  if ARGV[at] == '' then
    redis.call('DEL', KEYS[i])
    redis.call('ZREM', KEYS[3], name)
  else
    redis.call('SET', KEYS[i], ARGV[at], 'PXAT', ARGV[at + 1])
    redis.call('ZADD', KEYS[3], ARGV[at + 1], name)
  end
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ARGV[#ARGV - 1])
keep(KEYS[3])
return 1
"""

# KEYS: progress, index, total, then sessions and affects. ARGV: prefix. Returns the blob of each, and the name of the
# first that is gone although the index has it, or of the index if that is gone. MGET finds nothing under a key of
# another type, where GET would fail.
READ = f"""{_LOST_INDEX}
local time, found, gone = redis.call('TIME'), {{}}, lost(KEYS[1], KEYS[2], KEYS[3]) and KEYS[2]
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 4, #KEYS do
  found[i - 3] = redis.call('MGET', KEYS[i])[1]
  local name = string.sub(KEYS[i], #ARGV[1] + 1)
  local ends = not found[i - 3] and redis.call('ZSCORE', KEYS[2], name)
  if not gone and ends and tonumber(ends) > now then gone = name end
end
return {{found, gone}}
"""

# The sum of all progress, maintained by SAVE after the first call. KEYS: progress, index, total.
TOTAL = f"""{_LOST_INDEX}
lost(KEYS[1], KEYS[2], KEYS[3])
local total = redis.call('GET', KEYS[3])
if not total or redis.call('EXISTS', KEYS[1]) == 0 then
  total = 0
  for _, seq in ipairs(redis.call('HVALS', KEYS[1])) do total = total + seq end
  redis.call('SET', KEYS[3], total)
end
return tonumber(total)
"""

# KEYS: progress, stopped, skipped, total, index. ARGV: stream, seq, the record.
SKIP = f"""{_KEEP_INDEX}
if (redis.call('HGET', KEYS[1], ARGV[1]) or '0') ~= tostring(ARGV[2] - 1) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
keep(KEYS[5])
if redis.call('EXISTS', KEYS[4]) == 1 then redis.call('INCR', KEYS[4]) end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('LPUSH', KEYS[3], ARGV[3])
return 1
"""

# KEYS: progress, total, index, stopped, skipped, quiet. Deletes those that somebody wrote as another type, and then the
# progress, so that everything is applied again. Returns how many there were.
MEND = """
local types, wrong = {'hash', 'string', 'zset', 'hash', 'list', 'string'}, 0
for i, name in ipairs(KEYS) do
  local type = redis.call('TYPE', name).ok
  if type ~= 'none' and type ~= types[i] then
    redis.call('DEL', name)
    wrong = wrong + 1
  end
end
if wrong > 0 then redis.call('DEL', KEYS[1], KEYS[2]) end
return wrong
"""

# KEYS: progress, then others. While there is no progress, none of them is of a known moment.
FORGET = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
return 1
"""
