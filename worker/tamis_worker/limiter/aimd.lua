-- AIMD, additive increase and multiplicative decrease: calls in flight are halved when the endpoint is overloaded, and
-- grow while calls succeed; gcra.py gives the rates. Pure: times are microseconds, capitals are constants set above.

-- Return the calls that all processes may have in flight; `rate` (see limiter.lua) keeps the history.
local function adapt_concurrency(rate, now, ceiling, succeeded, congested)
  local most = rate.cap > 0 and math.min(ceiling, rate.cap) or ceiling
  if congested and now >= rate.cut then
    if rate.calm > 0 or rate.level == 0 then
      rate.level = most
    end
    most = math.max(1, most * CUT_FACTOR)
    rate.calm = 0
    rate.cut = now + CUT_WINDOW
  elseif not congested and succeeded > 0 and most < ceiling then
    local speed = most < SLOW_FROM * rate.level and FAST_GROWTH * ceiling or math.max(1, SLOW_GROWTH * rate.level)
    most = math.min(ceiling, most + speed * math.min(1, (now - rate.grown) / 1000000))
  end
  if succeeded > 0 then
    rate.grown = now
    rate.calm = congested and rate.calm or 1
  end
  if rate.blocked > now then
    rate.cut = math.max(rate.cut, rate.blocked)
  end
  rate.cap = most < ceiling and most or 0
  return math.max(1, math.floor(most))
end
