-- One conversation of a holder (a worker process) with the shared limit: tell what is held and was used, ask for more.
--
-- KEYS[1]  rate: hash of what all share, see `load` below
-- KEYS[2]  holders: hash of holder -> "<entry, see ENTRY> <call> | <what it was answered>"
-- ARGV     the holder's name, the call's name, and the numbers of `told`
-- All times are microseconds of this server's clock, or from now on. The constants in capitals are set above.
--
-- A holder tells how much it holds, not how much more or less: a lost reply, or lost keys, heal with the next call. A call
-- that comes a second time (the reply was lost and the client tries again) gets its first answer again.

local holder, call = ARGV[1], ARGV[2]
local told = {}
for i = 3, #ARGV do
  told[i - 2] = tonumber(ARGV[i])
end
-- slots: calls that it may have in flight; room: rate permits that it can use beyond new slots; lack: slots that the
-- permits it has need beyond those it has
local lease, held, want, weight, ask, first, each, extra, room, lack = unpack(told, 1, 10)
local settle, unpaced_requests, unpaced_tokens, succeeded, cut, block = unpack(told, 11, 16)
local rpm, tpm, ceiling = unpack(told, 17, 19)
-- What the endpoint said of its limits, and what the holder was answered last, for a server that has forgotten.
local said = {}
said.requests = {limit = told[20], taken = told[21], lasts = told[22], ago = told[23], windowed = told[24]}
said.tokens = {limit = told[25], taken = told[26], lasts = told[27], ago = told[28], windowed = told[29]}
local epoch_before, cap_before = told[30], told[31]
local before = {}
before.requests = {lead = told[32], limit = told[33], own = told[34], windowed = told[35]}
before.tokens = {lead = told[36], limit = told[37], own = told[38], windowed = told[39]}
local KINDS = {'requests', 'tokens'}

local ENTRY = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) |(.*)$'
local KEPT = 120000 -- milliseconds after the last use
local SLOT = 2000000 -- what was granted is counted in slots of so long
local NEVER = -1

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function whole(number)
  return string.format('%.0f', number)
end

-- Holders: what the others hold, and who of them waits. One whose lease is over is dropped with all it held.
local mine = {want = 0, slots_since = now, ask = 0, rates_since = now, due = 0}
local rivals, total_weight, asking_weight, others_held, others_want = {}, 0, 0, 0, 0
local entries = redis.call('HGETALL', KEYS[2])
for i = 1, #entries, 2 do
  local over, its_held, its_want, slots_since, its_ask, rates_since, due, its_weight, its_call, answer = string.match(entries[i + 1], ENTRY)
  local entry = {held = tonumber(its_held), want = tonumber(its_want), slots_since = tonumber(slots_since)}
  entry.ask, entry.rates_since, entry.due = tonumber(its_ask), tonumber(rates_since), tonumber(due)
  entry.weight = tonumber(its_weight)
  if entries[i] == holder then
    mine = entry
    mine.call, mine.answer = its_call, answer
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
  local numbers = {entry.held, entry.want, entry.slots_since, entry.ask, entry.rates_since, entry.due, entry.weight}
  for i = 1, #numbers do
    numbers[i] = whole(numbers[i])
  end
  redis.call('HSET', KEYS[2], holder, whole(now + lease) .. ' ' .. table.concat(numbers, ' ') .. ' ' .. call .. ' |' .. entry.answer)
  redis.call('PEXPIRE', KEYS[2], whole(lease / 1000 + KEPT))
end

if mine.call == call then
  keep_entry(mine)
  local numbers = {}
  for number in string.gmatch(mine.answer, '%S+') do
    numbers[#numbers + 1] = tonumber(number)
  end
  local since = now - table.remove(numbers, 1)
  for i = FIRST_DELAY, #numbers do
    numbers[i] = numbers[i] - since -- an appointment stays where it is
  end
  for _, i in ipairs({WAIT, BLOCKED}) do
    numbers[i] = numbers[i] > since and numbers[i] - since or math.min(numbers[i], 0)
  end
  return numbers
end

-- What all share.
local NAMES = {
  'epoch', -- when these keys came to be
  'requests', 'tokens', -- theoretical arrival times
  'blocked', 'settled', -- until when: nothing is granted; no slots are, because a wipe is being mended
  'cap', 'level', 'calm', -- calls in flight: at most (0: no cap), before the trouble; whether any succeeded since
  'cut', 'grown', -- no cut of them before; when they grew last
  'limit_requests', 'limit_tokens', 'heard_requests', 'heard_tokens', -- the endpoint's own, and when they were last told
  -- 1: the endpoint was seen to count by windows, not in a bucket. Never unlearned: a full window looks like a bucket.
  'windowed_requests', 'windowed_tokens',
  'bucket_requests', 'bucket_tokens', -- if it is a bucket: what our own calls have taken out of it
  'filled', -- when this script ran last
  'foreign_requests', 'foreign_tokens', 'foreign_requests_until', 'foreign_tokens_until', -- used by others
}
local rate = {}
local stored = redis.call('HMGET', KEYS[1], 'used', unpack(NAMES))
for i = 1, #NAMES do
  rate[NAMES[i]] = tonumber(stored[i + 1] or 0)
end
if rate.filled > now then -- the server's clock was set back, or another server took over: what was in a second still is
  for _, name in ipairs({'requests', 'tokens', 'blocked', 'settled', 'cut', 'foreign_requests_until', 'foreign_tokens_until'}) do
    rate[name] = math.max(0, rate[name] - (rate.filled - now))
  end
  rate.grown = math.min(rate.grown, now)
  rate.filled = now
end

-- What was granted in the last minutes, by slots of time: "slot requests tokens,...".
local used = {}
for slot, requests, tokens in string.gmatch(stored[1] or '', '(%d+) (%-?%d+) (%-?%d+)') do
  slot = tonumber(slot)
  if (slot + 1) * SLOT > now - WINDOW - OLDEST and slot * SLOT <= now then
    used[#used + 1] = {slot = slot, requests = tonumber(requests), tokens = tonumber(tokens)}
  end
end
local function count(requests, tokens)
  if requests == 0 and tokens == 0 then
    return
  end
  local slot = math.floor(now / SLOT)
  local last = used[#used]
  if not last or last.slot ~= slot then
    last = {slot = slot, requests = 0, tokens = 0}
    used[#used + 1] = last
  end
  last.requests, last.tokens = last.requests + requests, last.tokens + tokens
  rate.bucket_requests = rate.bucket_requests + requests
  rate.bucket_tokens = math.max(0, rate.bucket_tokens + tokens)
end
local function own(kind, span, ago)
  local till = now - (ago or 0)
  local from, sum = till - (span or WINDOW), 0
  for _, one in ipairs(used) do
    local begin = one.slot * SLOT
    local finish = math.min(begin + SLOT, math.max(begin + 1, now)) -- the last one is not over yet
    local part = (math.min(finish, till) - math.max(begin, from)) / (finish - begin)
    sum = sum + math.max(0, part) * one[kind]
  end
  return math.max(0, math.floor(sum))
end

-- A server that has forgotten is told by each of those who remember.
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
  count(math.max(0, before.requests.own - own('requests')), math.max(0, before.tokens.own - own('tokens')))
  if cap_before > 0 and (rate.cap == 0 or cap_before < rate.cap) then
    rate.cap, rate.level = cap_before, ceiling
  end
  -- Nobody knows what those hold who have not spoken yet; they all do within a third of their lease.
  rate.settled = math.max(rate.settled, rate.epoch + lease / 2)
end

-- What the endpoint says of its limits. Calls that were begun before anybody knew them are paid for then.
count(unpaced_requests, unpaced_tokens)
local unpaid = {requests = unpaced_requests, tokens = unpaced_tokens}
for kind, setting in pairs({requests = rpm, tokens = tpm}) do
  local limit, heard = 'limit_' .. kind, 'heard_' .. kind
  if said[kind].limit > 0 then
    if rate[limit] == 0 and setting == 0 then
      unpaid[kind] = math.min(rate['bucket_' .. kind], own(kind))
    end
    rate[limit], rate[heard] = said[kind].limit, now
  elseif rate[heard] + LIMIT_KEPT <= now then
    rate[limit] = 0
  end
  if said[kind].windowed > 0 then
    rate['windowed_' .. kind] = 1
  end
end
local function effective(setting, kind)
  local taken, lasts, ago = said[kind].taken, said[kind].lasts, math.min(said[kind].ago, OLDEST)
  local heard, foreign, till = rate['limit_' .. kind], rate['foreign_' .. kind], rate['foreign_' .. kind .. '_until']
  local limit = heard > 0 and heard or setting
  rate['bucket_' .. kind] = math.max(0, rate['bucket_' .. kind] - (now - rate.filled) / WINDOW * limit)
  if now >= till then
    foreign = 0
  end
  if taken > 0 then
    -- It is not known whether the answer tells of when its call came or of when it ended.
    local span, ours = WINDOW, nil
    if rate['windowed_' .. kind] == 0 then
      ours = rate['bucket_' .. kind] + math.min(ago, WINDOW / 2) / WINDOW * limit
    else
      if lasts < NEW_WINDOW then
        span = WINDOW - lasts -- a fixed window began so long ago; one that slides is never back so soon
      end
      ours = math.max(own(kind, span), own(kind, span, ago / 2), own(kind, span, ago))
    end
    local unexplained = taken - ours
    if unexplained > math.max(2, FOREIGN_FROM * limit) and unexplained * WINDOW / span >= 0.9 * foreign then
      foreign, till = unexplained * WINDOW / span, now + math.min(lasts, WINDOW) + FOREIGN_KEPT
    end
  end
  rate['foreign_' .. kind], rate['foreign_' .. kind .. '_until'] = foreign, till
  if limit == 0 then
    rate['bucket_' .. kind] = math.min(rate['bucket_' .. kind], own(kind))
    return 0
  end
  local left = math.max(limit - FOREIGN_FACTOR * foreign, LEAST_SHARE * limit)
  if setting > 0 then
    left = math.min(setting, left)
  end
  return math.max(1, math.floor(left))
end
rpm = effective(rpm, 'requests')
tpm = effective(tpm, 'tokens')
rate.filled = now

local request_interval, request_burst, token_interval, token_burst = 0, 0, 0, 0
if rpm > 0 then
  local burst = math.max(1, math.floor(rpm * BURST_SHARE))
  request_interval = math.ceil((WINDOW + LATE) / (rpm - burst + 1))
  request_burst = burst * request_interval
end
if tpm > 0 then
  local burst = math.floor(tpm * BURST_SHARE)
  token_interval = (WINDOW + LATE) / (tpm - burst)
  token_burst = burst * token_interval
end
local paced = rpm > 0 or tpm > 0

if unpaid.requests > 0 then
  rate.requests = math.max(rate.requests, now) + unpaid.requests * request_interval
end
if unpaid.tokens > 0 then
  rate.tokens = math.max(rate.tokens, now) + unpaid.tokens * token_interval
end

-- Settle what was used, block.
if token_interval > 0 and settle > 0 then
  rate.tokens = math.max(rate.tokens, now) + math.ceil(settle * token_interval)
elseif token_interval > 0 and settle < 0 then
  rate.tokens = math.max(0, rate.tokens + math.ceil(settle * token_interval))
end
count(0, settle)
if block > 0 then
  rate.blocked = math.max(rate.blocked, now + block)
end
local is_blocked = rate.blocked > now

-- Calls in flight: halved when the endpoint has too much, growing while calls succeed.
local most = ceiling
if rate.cap > 0 then
  most = math.min(ceiling, rate.cap)
end
if cut > 0 and now >= rate.cut then
  if rate.calm > 0 or rate.level == 0 then
    rate.level = most
  end
  most = math.max(1, most * CUT_FACTOR)
  rate.calm = 0
  rate.cut = now + CUT_WINDOW
elseif cut == 0 and succeeded > 0 and most < ceiling then
  local speed = most < SLOW_FROM * rate.level and FAST_GROWTH * ceiling or math.max(1, SLOW_GROWTH * rate.level)
  most = math.min(ceiling, most + speed * math.min(1, (now - rate.grown) / 1000000))
end
if succeeded > 0 then
  rate.grown = now
  rate.calm = cut == 0 and 1 or rate.calm
end
if is_blocked then
  rate.cut = math.max(rate.cut, rate.blocked)
end
rate.cap = most < ceiling and most or 0
local concurrency = math.max(1, math.floor(most))

-- Slots: everybody may have a share by weight. Below it, those who have waited longer for theirs go first; above it,
-- everybody who is below. Otherwise whoever gives a slot back would take it again, and the others would starve.
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

-- Rate permits: appointments, within AHEAD from now. Each may have a share by weight of these; whoever has none left and
-- has waited longer goes first.
local delays, reserved, wait = {}, 0, NEVER
local function due_at(cost)
  local due = now
  if request_interval > 0 then
    due = math.max(due, rate.requests + request_interval - request_burst)
  end
  if token_interval > 0 then
    due = math.max(due, rate.tokens + math.min(cost, token_burst) - token_burst)
  end
  return due
end
local function grant(due, cost, tokens)
  if request_interval > 0 then
    rate.requests = math.max(rate.requests, due) + request_interval
  end
  if token_interval > 0 then
    rate.tokens = math.max(rate.tokens, due) + cost
  end
  delays[#delays + 1] = math.ceil(due - now)
  reserved = reserved + tokens
end
local rates_since = mine.ask > 0 and mine.rates_since or now
if paced and ask > 0 and not is_blocked then
  local step = math.max(1, request_interval, each * token_interval)
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
    local cost = math.ceil(tokens * token_interval)
    local due = due_at(cost)
    local late = due + owed_rates * step - now - AHEAD
    if late > 0 then
      -- Asking again at once would give one; later, a block.
      wait = due - now - AHEAD + math.min(owed_rates * step, 1000000) + math.min(AHEAD / 2, (most_now - i) * step)
      wait = math.max(1, wait)
      break
    end
    grant(due, cost, tokens)
  end
  if #delays == ask and asking_weight == 0 then
    local cost = math.ceil(each * token_interval)
    for _ = 1, extra do
      if due_at(cost) > now then
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
  -- Whoever waits for a rate has no use for slots yet.
  local for_slots = ask > #delays and #delays >= room + allowed
  want = math.max(0, math.min(want, lack + (for_slots and ask or #delays)) - more)
else
  more = math.min(allowed, want)
  want = want - more
  ask = 0
end

-- Whoever has more than a share lets go of what others below theirs wait for. What was just granted is used first.
local keep = NEVER
local needed = owed - (free - more)
local over = held - share_of(weight)
if more == 0 and needed > 0 and over > 0 then
  keep = held - math.min(over, needed)
end
local contended = (others_want > 0 and free - more <= 0) and 1 or 0

local values = {'used', ''}
local slots = {}
for i, one in ipairs(used) do
  slots[i] = whole(one.slot) .. ' ' .. whole(one.requests) .. ' ' .. whole(one.tokens)
end
values[2] = table.concat(slots, ',')
for _, name in ipairs(NAMES) do
  values[#values + 1] = name
  values[#values + 1] = name == 'cap' and string.format('%.6f', rate.cap) or name == 'level' and string.format('%.6f', rate.level) or whole(rate[name])
end
redis.call('HSET', KEYS[1], unpack(values))
local ahead = math.max(rate.requests, rate.tokens, rate.blocked) - now
redis.call('PEXPIRE', KEYS[1], whole(math.max(0, ahead / 1000) + KEPT))

local answer = {
  more, keep, contended, paced and 1 or 0, math.ceil(wait), is_blocked and math.ceil(rate.blocked - now) or 0, concurrency,
  rate.epoch, math.ceil(rate.cap),
}
for _, kind in ipairs(KINDS) do
  answer[#answer + 1] = math.ceil(math.max(0, rate[kind] - now))
  answer[#answer + 1] = rate['limit_' .. kind]
  answer[#answer + 1] = own(kind)
  answer[#answer + 1] = rate['windowed_' .. kind]
  answer[#answer + 1] = math.floor(rate['bucket_' .. kind])
end
for i = 1, #delays do
  answer[FIRST_DELAY + i - 1] = delays[i]
end

if lease > 0 then
  local entry = {held = held + more, want = want, ask = math.max(0, ask - #delays), weight = weight, due = mine.due}
  entry.slots_since = more > 0 and now or slots_since -- it had its turn
  entry.rates_since = #delays > 0 and now or rates_since
  if #delays > 0 then
    entry.due = now + delays[#delays]
  end
  local numbers = {whole(now)}
  for i = 1, #answer do
    numbers[i + 1] = whole(answer[i])
  end
  entry.answer = table.concat(numbers, ' ')
  keep_entry(entry)
else
  redis.call('HDEL', KEYS[2], holder) -- it leaves
end
return answer
