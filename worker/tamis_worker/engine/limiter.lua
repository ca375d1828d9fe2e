-- One conversation of a holder (a worker process) with the shared limit: tell what is held and was used, block, ask.
--
-- KEYS[1]  rate: hash of `requests`, `tokens` (theoretical arrival times) and `blocked` (until when)
-- KEYS[2]  holders: hash of holder -> "<lease over at> <held> <waiting> <waiting since> <granted> <call>"
-- All times are microseconds of this server's clock.
--
-- A holder tells how many permits it holds, not how many more or fewer: a lost reply, or lost keys, heal with the next
-- call. A call that comes a second time (the reply was lost and the client tries again) gets its first answer again.

local holder, call = ARGV[1], ARGV[2]
local lease, held, want = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local settle, block = tonumber(ARGV[6]), tonumber(ARGV[7])
local concurrency = tonumber(ARGV[8])
local request_interval, request_burst = tonumber(ARGV[9]), tonumber(ARGV[10])
local token_interval, token_burst = tonumber(ARGV[11]), tonumber(ARGV[12])
local FIRST_ESTIMATE = 13

local KEPT = 120000 -- milliseconds after the last use
local CONCURRENCY = -1 -- as the time to wait: until a permit comes back, nobody knows when

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function whole(number)
  return string.format('%.0f', number)
end

-- Holders: what the others hold, and who of them waits. One whose lease is over is dropped with all it held.
local mine = nil
local rivals, active, others_held = {}, (held + want > 0) and 1 or 0, 0
local entries = redis.call('HGETALL', KEYS[2])
for i = 1, #entries, 2 do
  local over, its_held, its_want, since, granted, its_call = string.match(entries[i + 1], '(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)')
  local entry = {held = tonumber(its_held), want = tonumber(its_want), since = tonumber(since)}
  if entries[i] == holder then
    mine = entry
    mine.granted, mine.call = tonumber(granted), its_call
  elseif tonumber(over) <= now then
    redis.call('HDEL', KEYS[2], entries[i])
  elseif entry.held + entry.want > 0 then
    rivals[#rivals + 1] = entry
    active = active + 1
    others_held = others_held + entry.held
  end
end

if mine and mine.call == call then
  local entry = {whole(now + lease), mine.held, mine.want, whole(mine.since), mine.granted, call}
  redis.call('HSET', KEYS[2], holder, table.concat(entry, ' '))
  return {mine.granted, 0, now}
end

-- Rates: settle what was used, block.
local stored = redis.call('HMGET', KEYS[1], 'requests', 'tokens', 'blocked')
local requests, tokens = tonumber(stored[1] or 0), tonumber(stored[2] or 0)
local blocked = tonumber(stored[3] or 0)
if token_interval > 0 and settle > 0 then
  tokens = math.max(tokens, now) + math.ceil(settle * token_interval)
elseif token_interval > 0 and settle < 0 then
  tokens = math.max(0, tokens + math.ceil(settle * token_interval))
end
if block > 0 then
  blocked = math.max(blocked, now + block)
end

-- Concurrency: everybody may have an even share. Below it, those who have waited longer for theirs go first; above it,
-- everybody who is below. Otherwise whoever gives a permit back would take it again, and the others would starve.
local share = math.max(1, math.floor(concurrency / math.max(1, active)))
local since = (mine and mine.want > 0) and mine.since or now
local free = concurrency - others_held - held
local owed_before, owed = 0, 0
for _, rival in ipairs(rivals) do
  local due = math.min(rival.want, math.max(0, share - rival.held))
  owed = owed + due
  if rival.since < since then
    owed_before = owed_before + due
  end
end
local allowed = math.max(0, math.min(share - held, free - owed_before), free - owed)

-- Grants: in the order of asking, none before the first is granted.
local function wait_for(arrival, cost, burst)
  return arrival + math.min(cost, burst) - burst - now
end

local granted, wait = 0, 0
for i = FIRST_ESTIMATE, #ARGV do
  local cost = math.ceil(ARGV[i] * token_interval)
  if blocked > now then
    wait = blocked - now
  elseif granted >= allowed then
    wait = CONCURRENCY
  else
    if request_interval > 0 then
      wait = math.max(wait, wait_for(requests, request_interval, request_burst))
    end
    if token_interval > 0 then
      wait = math.max(wait, wait_for(tokens, cost, token_burst))
    end
  end
  if wait ~= 0 then
    break
  end
  if request_interval > 0 then
    requests = math.max(requests, now) + request_interval
  end
  if token_interval > 0 then
    tokens = math.max(tokens, now) + cost
  end
  granted = granted + 1
end

if requests > 0 or tokens > 0 or blocked > 0 then
  redis.call('HSET', KEYS[1], 'requests', whole(requests), 'tokens', whole(tokens), 'blocked', whole(blocked))
  local ahead = math.max(requests, tokens, blocked) - now
  redis.call('PEXPIRE', KEYS[1], whole(math.max(0, ahead / 1000) + KEPT))
end
if lease > 0 then
  if granted > 0 then
    since = now -- it had its turn
  end
  local entry = {whole(now + lease), held + granted, want - granted, whole(since), granted, call}
  redis.call('HSET', KEYS[2], holder, table.concat(entry, ' '))
  redis.call('PEXPIRE', KEYS[2], whole(lease / 1000 + KEPT))
else
  redis.call('HDEL', KEYS[2], holder) -- it leaves
end
return {granted, math.ceil(wait), now}
