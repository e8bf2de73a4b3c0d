import { RESERVATION_LUA } from "./reservation.lua.ts";

/**
 * ARGV: time, id ("" = look only: nothing is taken, and both scopes are tested), attempt, lease ms, number of the request's takes (-1 = not asked), of the target's; then of each take:
 * measure, key before and after the window's start, window ms (0 = a slot), limit, amount.
 * Reply for request and target: -1 = not asked or not tried; else 1 or 0 = allowed or not, index of the refusing take or
 * -1, ms to wait, and of each take what is left and when its window ends.
 */
export const RESERVE_LUA = /* lua */ `${RESERVATION_LUA}
local FIRST_MONDAY = 345600000
local SLOT_RETRY_MS = 1000
-- Windows stay a minute longer than they count: a replica that takes over may be behind in time.
local WINDOW_SLACK_MS = 60000
local MOST_FREED = 8
local FIRST_TAKE, TAKE_WORDS = 7, 6

local id, number, leaseMs = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local isPeek = id == ""
local requestCount, targetCount = tonumber(ARGV[5]), tonumber(ARGV[6])
local reply = {}

local function add(value)
  reply[#reply + 1] = value
end

local function test(position)
  local before, after = ARGV[position + 1], ARGV[position + 2]
  local windowMs, limit, amount = tonumber(ARGV[position + 3]), tonumber(ARGV[position + 4]), tonumber(ARGV[position + 5])
  local start = windowMs == 0 and 0 or now - (now - FIRST_MONDAY) % windowMs
  local key = before .. whole(start) .. after
  local ends = windowMs == 0 and 0 or start + windowMs
  local found = ends == 0 and redis.call("HGET", SLOTS, key) or ends ~= 0 and redis.call("GET", key)
  local value = tonumber(found or 0)
  return {
    take = { ARGV[position], key, ends, amount },
    isNew = not found,
    left = limit - value,
    fits = limit > 0 and value + amount <= limit,
  }
end

local function testAll(first, count)
  if count < 0 then return nil end
  local states = {}
  for index = 0, count - 1 do states[index + 1] = test(FIRST_TAKE + (first + index) * TAKE_WORDS) end
  return states
end

-- Says what comes of a scope; of several refusing takes the one that stays shut the longest.
local function tell(states, isRepeat)
  local refusedAt, wait = -1, 0
  for index, state in ipairs(states) do
    if not isRepeat and not state.fits then
      local ends = state.take[ENDS]
      local own = ends == 0 and SLOT_RETRY_MS or ends - now
      if refusedAt < 0 or own > wait then refusedAt, wait = index - 1, own end
    end
  end
  local allowed = refusedAt < 0
  add(allowed and 1 or 0)
  add(refusedAt)
  add(wait)
  for _, state in ipairs(states) do
    local taken = allowed and not isRepeat and not isPeek and state.take[AMOUNT] or 0
    add(math.max(0, state.left - taken))
    add(state.take[ENDS])
  end
  return allowed
end

local function hold(states)
  local takes = {}
  for index, state in ipairs(states) do
    local take = state.take
    takes[index] = take
    if take[ENDS] == 0 then
      redis.call("HINCRBY", SLOTS, take[KEY], whole(take[AMOUNT]))
    else
      redis.call("INCRBY", take[KEY], whole(take[AMOUNT]))
      if state.isNew then redis.call("PEXPIRE", take[KEY], whole(take[ENDS] - now + WINDOW_SLACK_MS)) end
    end
  end
  return takes
end

for _, lost in ipairs(redis.call("ZRANGEBYSCORE", LEASES, "-inf", whole(now), "LIMIT", 0, MOST_FREED)) do
  if not live(lost) then redis.call("ZREM", LEASES, lost) end
end

local reservation = live(id)
local known = reservation and findAttempt(reservation, number)
local request = testAll(0, requestCount)
if not request then
  add(-1)
elseif not tell(request, known) and not isPeek then
  add(-1)
  return reply
end
-- Of an attempt that was refused nothing was taken, so asking again is no repeat.
local targetIsRepeat = known and (known.settled or not known.refused)
local target = testAll(math.max(0, requestCount), targetCount)
local targetAllowed = true
if not target then
  add(-1)
else
  targetAllowed = tell(target, targetIsRepeat)
end
if isPeek or known and (targetIsRepeat or not target or not targetAllowed) then return reply end

reservation = reservation or { expires = 0, closed = false, owner = -1, refunded = false, request = {}, attempts = {} }
if known then
  known.refused, known.target = false, hold(target)
else
  if request and #request > 0 then
    reservation.request, reservation.owner = hold(request), number
  end
  local held = target and targetAllowed and hold(target) or {}
  table.insert(reservation.attempts, { number = number, settled = false, refused = not targetAllowed, target = held })
end
lease(id, reservation, now + leaseMs)
keepUntil(reservation.expires)
return reply
`;
