-- One request of a holder (a worker process) to the shared limit: it reports its share and use, and asks for more.
--
-- KEYS[1]  rate: hash of the shared state, see NAMES
-- KEYS[2]  holders: hash of holder -> "<entry, see ENTRY> <request> | <its reply>"
-- ARGV     the holder's name, the request's name, and numbers in the order of `LimiterRequest.arguments`
-- All times are microseconds of this server's clock, or from now on. The constants in capitals are set above, like the
-- functions of gcra.lua, aimd.lua and usage.lua.
--
-- A holder reports how much it holds, not the change: after a lost reply or lost keys, the next request repairs the state.
-- A repeated request (after a lost reply) gets its first reply again.

local holder, request = ARGV[1], ARGV[2]
local numbers = {}
for i = 3, #ARGV do
  numbers[i - 2] = tonumber(ARGV[i])
end
-- slots: calls that it may have in flight; room: permits that it can use beyond new slots; lack: slots needed by the
-- permits that it has, beyond its slots
local lease, held, want, weight, ask, first, each, extra, room, lack = unpack(numbers, 1, 10)
local settle, unpaced_requests, unpaced_tokens, succeeded, congested, block = unpack(numbers, 11, 16)
local setting = {requests = numbers[17], tokens = numbers[18]} -- a minute; 0: none
local ceiling = numbers[19]
-- The endpoint's reports of its limits, and the holder's last reply, for a server that lost its state.
local function limit_report(i)
  local limit, taken, lasts, ago, windowed = unpack(numbers, i, i + 4)
  return {limit = limit, taken = taken, lasts = lasts, ago = ago, windowed = windowed}
end
local report = {requests = limit_report(20), tokens = limit_report(25)}
local epoch_before, cap_before = numbers[30], numbers[31]
local function limit_state(i)
  local lead, limit, granted, windowed = unpack(numbers, i, i + 3)
  return {lead = lead, limit = limit, granted = granted, windowed = windowed}
end
local before = {requests = limit_state(32), tokens = limit_state(36)}
local lifted_before = numbers[40]
local KINDS = {'requests', 'tokens'}

local ENTRY = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) |(.*)$'
local KEPT = 120000 -- milliseconds after the last use
local NEVER = -1

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function whole(number)
  return string.format('%.0f', number)
end

-- Holders: the shares of the others, and which of them wait. A holder with an expired lease is dropped with its share.
local mine = {want = 0, slots_since = now, ask = 0, rates_since = now, due = 0}
local rivals, total_weight, asking_weight, others_held, others_want = {}, 0, 0, 0, 0
local entries = redis.call('HGETALL', KEYS[2])
for i = 1, #entries, 2 do
  local over, its_held, its_want, slots_since, its_ask, rates_since, due, its_weight, its_request, reply = string.match(entries[i + 1], ENTRY)
  local entry = {held = tonumber(its_held), want = tonumber(its_want), slots_since = tonumber(slots_since)}
  entry.ask, entry.rates_since, entry.due = tonumber(its_ask), tonumber(rates_since), tonumber(due)
  entry.weight = tonumber(its_weight)
  if entries[i] == holder then
    mine = entry
    mine.request, mine.reply = its_request, reply
  elseif tonumber(over) <= now then
    redis.call('HDEL', KEYS[2], entries[i])
  elseif entry.held + entry.want + entry.ask > 0 then
    rivals[#rivals + 1] = entry
    total_weight = total_weight + entry.weight
    others_held = others_held + entry.held
    others_want = others_want + entry.want
    if entry.ask > 0 then
      asking_weight = asking_weight + entry.weight
    end
  end
end

local function keep_entry(entry)
  local fields = {entry.held, entry.want, entry.slots_since, entry.ask, entry.rates_since, entry.due, entry.weight}
  for i = 1, #fields do
    fields[i] = whole(fields[i])
  end
  redis.call('HSET', KEYS[2], holder, whole(now + lease) .. ' ' .. table.concat(fields, ' ') .. ' ' .. request .. ' |' .. entry.reply)
  redis.call('PEXPIRE', KEYS[2], whole(lease / 1000 + KEPT))
end

if mine.request == request then
  keep_entry(mine)
  local reply = {}
  for number in string.gmatch(mine.reply, '%S+') do
    reply[#reply + 1] = tonumber(number)
  end
  local since = now - table.remove(reply, 1)
  for i = FIRST_DELAY, #reply do
    reply[i] = reply[i] - since -- keep the original due time
  end
  for _, i in ipairs({WAIT, BLOCKED}) do
    reply[i] = reply[i] > since and reply[i] - since or math.min(reply[i], 0)
  end
  return reply
end

-- The shared state.
local NAMES = {
  'epoch', -- creation time of these keys
  'requests', 'tokens', -- theoretical arrival times, see gcra.lua
  'blocked', 'settled', -- end of a pause of all grants; of all slots, while lost state is restored
  'lifted', -- when a person last lifted a block, as blocks.py writes it
  'cap', 'level', 'calm', -- see aimd.lua: most calls in flight (0: no cap), before the trouble; whether any succeeded since
  'cut', 'grown', -- no cut before; time of the last growth
  'limit_requests', 'limit_tokens', 'heard_requests', 'heard_tokens', -- the endpoint's, and the times of the last reports
  -- 1: the endpoint was seen to count by windows, not in a bucket. Never reset: a full window looks like a bucket.
  'windowed_requests', 'windowed_tokens',
  'bucket_requests', 'bucket_tokens', -- if it is a bucket: our calls' use of it
  'filled', -- time of this script's last run
  'foreign_requests', 'foreign_tokens', 'foreign_requests_until', 'foreign_tokens_until', -- used by others
}
local rate = {}
local stored = redis.call('HMGET', KEYS[1], 'used', unpack(NAMES))
for i = 1, #NAMES do
  rate[NAMES[i]] = tonumber(stored[i + 1] or 0)
end
if rate.filled > now then -- the server's clock went back, or another server took over: keep the remaining times
  for _, name in ipairs({'requests', 'tokens', 'blocked', 'settled', 'cut', 'foreign_requests_until', 'foreign_tokens_until'}) do
    rate[name] = math.max(0, rate[name] - (rate.filled - now))
  end
  rate.grown = math.min(rate.grown, now)
  rate.filled = now
end

local usage = read_usage(stored[1] or '', now)
local function count(requests, tokens)
  add_usage(usage, rate, now, requests, tokens)
end

-- Each holder restores the state of a server that lost it.
if rate.epoch == 0 then
  rate.epoch = now
end
if epoch_before > 0 and epoch_before ~= rate.epoch then
  for _, kind in ipairs(KINDS) do
    rate[kind] = math.max(rate[kind], now + before[kind].lead)
    rate['windowed_' .. kind] = math.max(rate['windowed_' .. kind], before[kind].windowed)
    if rate['limit_' .. kind] == 0 and before[kind].limit > 0 then
      rate['limit_' .. kind], rate['heard_' .. kind] = before[kind].limit, now
    end
  end
  local missing = {}
  for _, kind in ipairs(KINDS) do
    missing[kind] = math.max(0, before[kind].granted - granted_within(usage, now, kind))
  end
  count(missing.requests, missing.tokens)
  if cap_before > 0 and (rate.cap == 0 or cap_before < rate.cap) then
    rate.cap, rate.level = cap_before, ceiling
  end
  -- The shares of holders without a request so far are unknown; all send one within a third of their lease.
  rate.settled = math.max(rate.settled, rate.epoch + lease / 2)
end

-- The endpoint's reports. Calls begun before the limit was known are paid for then, up to a minute's worth: no endpoint
-- counts further back, and it has refused calls beyond its limit.
count(unpaced_requests, unpaced_tokens)
local unpaid, limit = {requests = unpaced_requests, tokens = unpaced_tokens}, {}
for _, kind in ipairs(KINDS) do
  if report[kind].limit > 0 and rate['limit_' .. kind] == 0 and setting[kind] == 0 then
    unpaid[kind] = math.min(rate['bucket_' .. kind], granted_within(usage, now, kind))
  end
  learn_limit(rate, now, kind, report[kind])
  limit[kind] = limit_in_force(rate, usage, now, kind, setting[kind], report[kind])
  unpaid[kind] = math.min(unpaid[kind], limit[kind])
end
rate.filled = now

local per_request, per_token = request_pace(limit.requests), token_pace(limit.tokens)
local paced = limit.requests > 0 or limit.tokens > 0
rate.requests = tat_settled(per_request, rate.requests, now, unpaid.requests * per_request.interval)
rate.tokens = tat_settled(per_token, rate.tokens, now, unpaid.tokens * per_token.interval)

-- Settle the use, block. A holder that has not heard of the last lift asks for a block from before it.
rate.tokens = tat_settled(per_token, rate.tokens, now, math.ceil(settle * per_token.interval))
count(0, settle)
rate.lifted = math.max(rate.lifted, lifted_before)
if block > 0 and lifted_before == rate.lifted then
  rate.blocked = math.max(rate.blocked, now + block)
end
local is_blocked = rate.blocked > now

local concurrency = adapt_concurrency(rate, now, ceiling, succeeded, congested > 0)

-- Slots: each holder may have a share by weight. Below it, holders that have waited longer are first; above it, all
-- holders below theirs. Otherwise a holder would take its returned slots again, and the others would starve.
total_weight = total_weight + weight
local function share_of(its_weight)
  return math.floor(concurrency * its_weight / total_weight)
end
local share = math.max(1, share_of(weight))
local slots_since = mine.want > 0 and mine.slots_since or now
local free = concurrency - others_held - held
local owed_before, owed = 0, 0
for _, rival in ipairs(rivals) do
  local due = math.min(rival.want, math.max(0, math.max(1, share_of(rival.weight)) - rival.held))
  owed = owed + due
  if rival.slots_since < slots_since then
    owed_before = owed_before + due
  end
end
local allowed = math.max(0, math.min(share - held, free - owed_before), free - owed)
if now < rate.settled or is_blocked then
  allowed = 0
end

-- Permits, due within AHEAD from now. Each holder may have a share of these by weight; holders without any that have
-- waited longer are first.
local delays, reserved, wait = {}, 0, NEVER
local function permit_due(cost)
  local requests_due = due_at(per_request, rate.requests, now, per_request.interval)
  return math.max(requests_due, due_at(per_token, rate.tokens, now, cost))
end
local function grant(due, cost, tokens)
  rate.requests = tat_after(per_request, rate.requests, due, per_request.interval)
  rate.tokens = tat_after(per_token, rate.tokens, due, cost)
  delays[#delays + 1] = math.ceil(due - now)
  reserved = reserved + tokens
end
local rates_since = mine.ask > 0 and mine.rates_since or now
if paced and ask > 0 and not is_blocked then
  local step = math.max(1, per_request.interval, each * per_token.interval)
  local block_of = function(its_weight)
    return math.max(1, math.floor(AHEAD * its_weight / (asking_weight + weight) / step))
  end
  local owed_rates = 0
  for _, rival in ipairs(rivals) do
    if rival.ask > 0 and rival.due <= now and rival.rates_since < rates_since then
      owed_rates = owed_rates + math.min(rival.ask, block_of(rival.weight))
    end
  end
  local most_now = math.min(ask, room + allowed, MOST_AT_ONCE)
  if asking_weight > 0 then
    most_now = math.min(most_now, block_of(weight))
  end
  for i = 1, most_now do
    local tokens = i == 1 and first or each
    local cost = math.ceil(tokens * per_token.interval)
    local due = permit_due(cost)
    local late = due + owed_rates * step - now - AHEAD
    if late > 0 then
      -- A request right now would bring one permit; later, several.
      wait = due - now - AHEAD + math.min(owed_rates * step, 1000000) + math.min(AHEAD / 2, (most_now - i) * step)
      wait = math.max(1, wait)
      break
    end
    grant(due, cost, tokens)
  end
  if #delays == ask and asking_weight == 0 then
    local cost = math.ceil(each * per_token.interval)
    for _ = 1, extra do
      if permit_due(cost) > now then
        break
      end
      grant(now, cost, each)
    end
  end
end
if is_blocked then
  wait = rate.blocked - now
end
count(#delays, reserved)

local more
if paced then
  more = math.max(0, math.min(allowed, lack + #delays))
  -- A holder that waits for a rate cannot use slots yet.
  local for_slots = ask > #delays and #delays >= room + allowed
  want = math.max(0, math.min(want, lack + (for_slots and ask or #delays)) - more)
else
  more = math.min(allowed, want)
  want = want - more
  ask = 0
end

-- A holder above its share returns slots that others below theirs wait for. New grants are used first.
local keep = NEVER
local needed = owed - (free - more)
local over = held - share_of(weight)
if more == 0 and needed > 0 and over > 0 then
  keep = held - math.min(over, needed)
end
local contended = (others_want > 0 and free - more <= 0) and 1 or 0

local values = {'used', write_usage(usage)}
for _, name in ipairs(NAMES) do
  values[#values + 1] = name
  values[#values + 1] = (name == 'cap' or name == 'level') and string.format('%.6f', rate[name]) or whole(rate[name])
end
redis.call('HSET', KEYS[1], unpack(values))
local ahead = math.max(rate.requests, rate.tokens, rate.blocked) - now
redis.call('PEXPIRE', KEYS[1], whole(math.max(0, ahead / 1000) + KEPT))

local reply = {
  more, keep, contended, paced and 1 or 0, math.ceil(wait), is_blocked and math.ceil(rate.blocked - now) or 0, concurrency,
  rate.epoch, math.ceil(rate.cap),
}
for _, kind in ipairs(KINDS) do
  reply[#reply + 1] = math.ceil(math.max(0, rate[kind] - now))
  reply[#reply + 1] = rate['limit_' .. kind]
  reply[#reply + 1] = granted_within(usage, now, kind)
  reply[#reply + 1] = rate['windowed_' .. kind]
  reply[#reply + 1] = math.floor(rate['bucket_' .. kind])
end
reply[#reply + 1] = rate.lifted
for i = 1, #delays do
  reply[FIRST_DELAY + i - 1] = delays[i]
end

if lease > 0 then
  local entry = {held = held + more, want = want, ask = math.max(0, ask - #delays), weight = weight, due = mine.due}
  entry.slots_since = more > 0 and now or slots_since -- it had its turn
  entry.rates_since = #delays > 0 and now or rates_since
  if #delays > 0 then
    entry.due = now + delays[#delays]
  end
  local texts = {whole(now)}
  for i = 1, #reply do
    texts[i + 1] = whole(reply[i])
  end
  entry.reply = table.concat(texts, ' ')
  keep_entry(entry)
else
  redis.call('HDEL', KEYS[2], holder) -- the holder leaves
end
return reply
