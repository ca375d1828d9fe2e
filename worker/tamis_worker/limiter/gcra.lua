-- GCRA, the generic cell rate algorithm: one time per limit, the theoretical arrival time (TAT), up to which use is paid
-- for. gcra.py proves that the limit holds. Pure: times are microseconds; capitals are constants set above.

local UNLIMITED = {interval = 0, burst = 0}

-- The pace of requests under a limit per minute (0: none): microseconds per request, and of a burst.
local function request_pace(rpm)
  if rpm == 0 then
    return UNLIMITED
  end
  local burst = math.max(1, math.floor(rpm * BURST_SHARE))
  local interval = math.ceil((WINDOW + LATE) / (rpm - burst + 1)) -- whole microseconds, rounded to the safe side
  return {interval = interval, burst = burst * interval}
end

-- The pace of tokens. Under 200 a minute the burst is 0: every permit waits until the previous permit is paid for.
local function token_pace(tpm)
  if tpm == 0 then
    return UNLIMITED
  end
  local burst = math.floor(tpm * BURST_SHARE)
  local interval = (WINDOW + LATE) / (tpm - burst)
  return {interval = interval, burst = burst * interval}
end

-- Return the due time of a permit that costs so many microseconds.
local function due_at(pace, tat, now, cost)
  if pace.interval == 0 then
    return now
  end
  return math.max(now, tat + math.min(cost, pace.burst) - pace.burst)
end

-- Return the TAT after that permit.
local function tat_after(pace, tat, due, cost)
  if pace.interval == 0 then
    return tat
  end
  return math.max(tat, due) + cost
end

-- Return the TAT after a settlement: extra use is paid for, unused cost (negative) comes back.
local function tat_settled(pace, tat, now, cost)
  if cost < 0 then
    return math.max(0, tat + cost)
  end
  return cost > 0 and tat_after(pace, tat, now, cost) or tat
end
