-- The grants of all processes in the last minutes, and the limits in force beside the use of others.
-- Pure: times are microseconds; capitals are constants set above.
--
-- Usage is kept by slices of time, the oldest first, written as "slice requests tokens,...".

local SLICE = 2000000

local function read_usage(text, now)
  local usage = {}
  for slice, requests, tokens in string.gmatch(text, '(%d+) (%-?%d+) (%-?%d+)') do
    slice = tonumber(slice)
    if (slice + 1) * SLICE > now - WINDOW - OLDEST and slice * SLICE <= now then
      usage[#usage + 1] = {slice = slice, requests = tonumber(requests), tokens = tonumber(tokens)}
    end
  end
  return usage
end

local function write_usage(usage)
  local slices = {}
  for i, part in ipairs(usage) do
    slices[i] = string.format('%.0f %.0f %.0f', part.slice, part.requests, part.tokens)
  end
  return table.concat(slices, ',')
end

-- Count the new grants, also against the endpoint's bucket, if it has one.
local function add_usage(usage, rate, now, requests, tokens)
  if requests == 0 and tokens == 0 then
    return
  end
  local slice = math.floor(now / SLICE)
  local last = usage[#usage]
  if not last or last.slice ~= slice then
    last = {slice = slice, requests = 0, tokens = 0}
    usage[#usage + 1] = last
  end
  last.requests, last.tokens = last.requests + requests, last.tokens + tokens
  rate.bucket_requests = rate.bucket_requests + requests
  rate.bucket_tokens = math.max(0, rate.bucket_tokens + tokens)
end

-- Return the grants of a kind within `span` (default: a minute), up to `ago` before now.
local function granted_within(usage, now, kind, span, ago)
  local till = now - (ago or 0)
  local from, sum = till - (span or WINDOW), 0
  for _, part in ipairs(usage) do
    local begin = part.slice * SLICE
    local finish = math.min(begin + SLICE, math.max(begin + 1, now)) -- the last slice is not over yet
    local share = (math.min(finish, till) - math.max(begin, from)) / (finish - begin)
    sum = sum + math.max(0, share) * part[kind]
  end
  return math.max(0, math.floor(sum))
end

-- Learn a reported limit of a kind, and forget a limit that was not repeated for long.
local function learn_limit(rate, now, kind, report)
  local limit, heard = 'limit_' .. kind, 'heard_' .. kind
  if report.limit > 0 then
    rate[limit], rate[heard] = report.limit, now
  elseif rate[heard] + LIMIT_KEPT <= now then
    rate[limit] = 0
  end
  if report.windowed > 0 then
    rate['windowed_' .. kind] = 1
  end
end

-- Return the use of others per minute, if the endpoint reports more use than ours; valid until `till`.
local function observe_foreign(rate, usage, now, kind, limit, report)
  local foreign, till = rate['foreign_' .. kind], rate['foreign_' .. kind .. '_until']
  if now >= till then
    foreign = 0
  end
  if report.taken > 0 then
    -- The answer may describe the beginning or the end of its call.
    local ago, span, ours = math.min(report.ago, OLDEST), WINDOW, nil
    if rate['windowed_' .. kind] == 0 then
      ours = rate['bucket_' .. kind] + math.min(ago, WINDOW / 2) / WINDOW * limit
    else
      if report.lasts < NEW_WINDOW then
        span = WINDOW - report.lasts -- age of a fixed window; a sliding one never has so short a reset
      end
      ours = math.max(
        granted_within(usage, now, kind, span),
        granted_within(usage, now, kind, span, ago / 2),
        granted_within(usage, now, kind, span, ago)
      )
    end
    local unexplained = report.taken - ours
    if unexplained > math.max(2, FOREIGN_FROM * limit) and unexplained * WINDOW / span >= 0.9 * foreign then
      foreign, till = unexplained * WINDOW / span, now + math.min(report.lasts, WINDOW) + FOREIGN_KEPT
    end
  end
  rate['foreign_' .. kind], rate['foreign_' .. kind .. '_until'] = foreign, till
  return foreign
end

-- Return the limit in force per minute (0: none): the endpoint's, less the use of others, at most the settings'.
local function limit_in_force(rate, usage, now, kind, setting, report)
  local learned = rate['limit_' .. kind]
  local limit = learned > 0 and learned or setting
  rate['bucket_' .. kind] = math.max(0, rate['bucket_' .. kind] - (now - rate.filled) / WINDOW * limit)
  local foreign = observe_foreign(rate, usage, now, kind, limit, report)
  if limit == 0 then
    rate['bucket_' .. kind] = math.min(rate['bucket_' .. kind], granted_within(usage, now, kind))
    return 0
  end
  local left = math.max(limit - FOREIGN_FACTOR * foreign, LEAST_SHARE * limit)
  if setting > 0 then
    left = math.min(setting, left)
  end
  return math.max(1, math.floor(left))
end
