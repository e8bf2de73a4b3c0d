import { MEASUREMENT_MS, NEWEST_SHARE, REPORTER_MS } from "./port.ts";

/**
 * KEYS: one key of the organisation, for its slot. ARGV: time ("" = Redis's own), start of the keys of targets, then
 * latencies, numbers in flight and asked targets, each list after its length. A target is a hash: "l" the average, "t"
 * the time of the last answer, "r:<process>" = {count, its time, valid until}.
 */
export const MEASURE_LUA = /* lua */ `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local prefix = ARGV[2]
local at = 2

local function word()
  at = at + 1
  return ARGV[at]
end

local function keep(key)
  redis.call("PEXPIRE", key, "${MEASUREMENT_MS}")
end

for _ = 1, tonumber(word()) do
  local key, count, mean = prefix .. word(), tonumber(word()), tonumber(word())
  local average = tonumber(redis.call("HGET", key, "l"))
  if average then average = average + (1 - (1 - ${NEWEST_SHARE}) ^ count) * (mean - average) else average = mean end
  redis.call("HSET", key, "l", string.format("%.3f", average), "t", string.format("%.0f", now))
  keep(key)
end

for _ = 1, tonumber(word()) do
  local key, field, count, reportedAt = prefix .. word(), "r:" .. word(), tonumber(word()), tonumber(word())
  local packed = redis.call("HGET", key, field)
  local before = packed and cmsgpack.unpack(packed)
  if not before or before[2] <= reportedAt or before[3] <= now then
    redis.call("HSET", key, field, cmsgpack.pack({ count, reportedAt, now + ${REPORTER_MS} }))
    keep(key)
  end
end

local told = {}
for _ = 1, tonumber(word()) do
  local key = prefix .. word()
  local latency, age, inFlight = "", 0, 0
  local fields = redis.call("HGETALL", key)
  for index = 1, #fields, 2 do
    local name, value = fields[index], fields[index + 1]
    if name == "l" then
      latency = value
    elseif name == "t" then
      age = now - tonumber(value)
    else
      local reported = cmsgpack.unpack(value)
      if now < reported[3] then inFlight = inFlight + reported[1] else redis.call("HDEL", key, name) end
    end
  end
  told[#told + 1] = latency
  told[#told + 1] = age
  told[#told + 1] = inFlight
end
return told
`;
