import { GRANT_MS, KEEP_MS, MOST_CHANGES, MOST_TARGETS, PROBE_MS } from "./port.ts";

/**
 * KEYS: changes (targets by the version of their last change), the version: both of one organisation. ARGV: time
 * ("" = Redis's own), start of the keys of states, start of those of probes, since, then the deltas, the wanted and the
 * begun probes, each list after its length. The same machine as core/breaker/state.ts; one suite runs over both.
 * A state is packed as {failures, successes, since, open until, cooldown}; Redis forgets it after it says nothing more.
 */
export const EXCHANGE_LUA = /* lua */ `
local CHANGES, VERSION = KEYS[1], KEYS[2]
local FAILURES, SUCCESSES, SINCE, OPEN, COOLDOWN = 1, 2, 3, 4, 5
local KEEP_MS = ${KEEP_MS}
-- A state is over when its time is, read by load; Redis forgets it some time after.
local SLACK_MS = 60000

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local statePrefix, probePrefix, since = ARGV[2], ARGV[3], ARGV[4]
local at = 4

local function word()
  at = at + 1
  return ARGV[at]
end

-- Lua writes large numbers with an exponent, which Redis does not take.
local function whole(number)
  return string.format("%.0f", number)
end

local function load(target)
  local packed = redis.call("GET", statePrefix .. target)
  if packed then
    local state = cmsgpack.unpack(packed)
    if state[OPEN] ~= 0 then
      if now < state[OPEN] + KEEP_MS then return state end
    elseif now - state[SINCE] < state[COOLDOWN] then
      return state
    end
  end
  return { 0, 0, 0, 0, 0 }
end

-- A version never begins again below one that was given before: a lost counter starts from the time.
local function nextVersion()
  local version = redis.call("INCR", VERSION)
  if version == 1 then
    version = now
    redis.call("SET", VERSION, whole(version))
  end
  return version
end

local function save(target, state)
  if state[OPEN] ~= 0 then
    redis.call("SET", statePrefix .. target, cmsgpack.pack(state), "PX", whole(state[OPEN] - now + KEEP_MS))
  elseif state[FAILURES] > 0 then
    redis.call("SET", statePrefix .. target, cmsgpack.pack(state), "PX", whole(state[SINCE] + state[COOLDOWN] - now + SLACK_MS))
  else
    redis.call("DEL", statePrefix .. target)
  end
  redis.call("ZADD", CHANGES, whole(nextVersion()), target)
  for _, key in ipairs(KEYS) do redis.call("PEXPIRE", key, whole(2 * KEEP_MS)) end
end

-- The token of the probe that is granted or under way.
local function probing(target)
  local packed = redis.call("GET", probePrefix .. target)
  if not packed then return nil end
  local probe = cmsgpack.unpack(packed)
  if now < probe[2] then return probe[1] end
  return nil
end

local function keepProbe(target, token, ms)
  redis.call("SET", probePrefix .. target, cmsgpack.pack({ token, now + ms }), "PX", whole(ms))
end

local function holds(target, token)
  return token ~= "" and probing(target) == token
end

for _ = 1, tonumber(word()) do
  local target, threshold, percentage = word(), tonumber(word()), tonumber(word())
  local minimum, cooldown = tonumber(word()), tonumber(word())
  local before, failures, after = tonumber(word()), tonumber(word()), tonumber(word())
  local token, outcome = word(), word()
  local state = load(target)
  if holds(target, token) then
    redis.call("DEL", probePrefix .. target)
    if state[OPEN] ~= 0 and outcome == "success" then
      save(target, { 0, 0, 0, 0, 0 })
    elseif state[OPEN] ~= 0 and outcome == "failure" then
      state[FAILURES], state[OPEN], state[COOLDOWN] = state[FAILURES] + 1, now + cooldown, cooldown
      save(target, state)
    end
  elseif state[OPEN] == 0 and state[FAILURES] + failures > 0 then
    if state[FAILURES] == 0 then
      state = { failures, after, now, 0, cooldown }
    else
      state = { state[FAILURES] + failures, state[SUCCESSES] + before + after, state[SINCE], 0, cooldown }
    end
    local total = state[FAILURES] + state[SUCCESSES]
    if (threshold and state[FAILURES] >= threshold)
      or (percentage and total >= minimum and state[FAILURES] * 100 >= percentage * total) then
      state[OPEN] = now + cooldown
    end
    if before + failures + after > 0 then save(target, state) end
  end
end

local granted = {}
for _ = 1, tonumber(word()) do
  local target, token = word(), word()
  local open = load(target)[OPEN]
  if open ~= 0 and now >= open and not probing(target) then
    keepProbe(target, token, ${GRANT_MS})
    granted[#granted + 1] = token
  end
end
for _ = 1, tonumber(word()) do
  local target, token = word(), word()
  if holds(target, token) then keepProbe(target, token, ${PROBE_MS}) end
end

local tooMany = redis.call("ZCARD", CHANGES) - ${MOST_TARGETS}
if tooMany > 0 then
  for _, target in ipairs(redis.call("ZRANGE", CHANGES, 0, tooMany - 1)) do
    redis.call("DEL", statePrefix .. target, probePrefix .. target)
  end
  redis.call("ZREMRANGEBYRANK", CHANGES, 0, tooMany - 1)
end

local changed = {}
local version = since
local rows = redis.call("ZRANGEBYSCORE", CHANGES, "(" .. since, "+inf", "WITHSCORES", "LIMIT", 0, ${MOST_CHANGES})
for index = 1, #rows, 2 do
  local state = load(rows[index])
  version = rows[index + 1]
  changed[#changed + 1] = rows[index]
  changed[#changed + 1] = state[FAILURES]
  changed[#changed + 1] = state[SUCCESSES]
  changed[#changed + 1] = state[SINCE] == 0 and 0 or now - state[SINCE]
  changed[#changed + 1] = state[OPEN] == 0 and -1 or math.max(0, state[OPEN] - now)
end
return { version, granted, changed }
`;
