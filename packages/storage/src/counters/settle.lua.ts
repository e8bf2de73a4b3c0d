import { RESERVATION_LUA } from "./reservation.lua.ts";

/**
 * ARGV: time, id, attempt, tokens and cost ("" = unknown), then "1" or "0": refund the request, refund the target, last.
 * Each use is added to the request's takes, which hold the estimate of one attempt: the order does not matter.
 */
export const SETTLE_LUA = /* lua */ `${RESERVATION_LUA}
local id, number = ARGV[2], tonumber(ARGV[3])
local used = { tokens = tonumber(ARGV[4]), cost = tonumber(ARGV[5]) }
local refundRequest, refundTarget, last = ARGV[6] == "1", ARGV[7] == "1", ARGV[8] == "1"

-- Changes a window that still counts; one that Redis forgot is not begun again below nothing.
local function correct(take, amount)
  if amount == 0 or take[ENDS] <= now or redis.call("EXISTS", take[KEY]) == 0 then return end
  local value = redis.call("INCRBY", take[KEY], whole(amount))
  if value < 0 then redis.call("INCRBY", take[KEY], whole(0 - value)) end
end

local reservation = live(id)
if not reservation then return 0 end
local attempt = findAttempt(reservation, number)
if not attempt then
  attempt = { number = number, settled = false, refused = false, target = {} }
  table.insert(reservation.attempts, attempt)
end
if attempt.settled then return 0 end
attempt.settled = true

local refundsFirst = refundRequest and not reservation.refunded
if refundsFirst then reservation.refunded = true end
for _, take in ipairs(reservation.request) do
  local estimate = reservation.owner == number and take[AMOUNT] or 0
  if take[ENDS] == 0 then
    -- Freed with the last attempt.
  elseif take[MEASURE] == "requests" then
    correct(take, refundsFirst and 0 - take[AMOUNT] or 0)
  elseif refundRequest then
    correct(take, 0 - estimate)
  else
    correct(take, (used[take[MEASURE]] or estimate) - estimate)
  end
end
for _, take in ipairs(attempt.target) do
  if refundTarget then
    correct(take, 0 - take[AMOUNT])
  else
    correct(take, (used[take[MEASURE]] or take[AMOUNT]) - take[AMOUNT])
  end
end
freeSlots(attempt.target)
if last then close(reservation) end

local finished = reservation.closed
for _, one in ipairs(reservation.attempts) do finished = finished and one.settled end
if finished then forget(id) else save(id, reservation) end
return 1
`;
