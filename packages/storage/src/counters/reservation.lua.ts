/**
 * What the scripts on reservations share. KEYS: leases (by their end), reservations, slots: all of one organisation.
 * ARGV[1]: "" = Redis's own time, the only one that counts; tests give another.
 *
 * A reservation is packed with its takes as {measure, key, end of its window, amount}; end 0 = a slot (concurrency),
 * and then the key is a field of the slots. The three keys end together, a day after the last lease: a slot can
 * neither outlive the reservation that would free it nor vanish below one that holds it.
 */
export const RESERVATION_LUA = /* lua */ `
local LEASES, RESERVATIONS, SLOTS = KEYS[1], KEYS[2], KEYS[3]
local MEASURE, KEY, ENDS, AMOUNT = 1, 2, 3, 4
local KEEP_MS = 86400000

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Lua writes large numbers with an exponent, which Redis does not take.
local function whole(number)
  return string.format("%.0f", number)
end

local function freeSlots(takes)
  for _, take in ipairs(takes) do
    if take[ENDS] == 0 and redis.call("HINCRBY", SLOTS, take[KEY], whole(0 - take[AMOUNT])) <= 0 then
      redis.call("HDEL", SLOTS, take[KEY])
    end
  end
end

local function close(reservation)
  if reservation.closed then return end
  reservation.closed = true
  freeSlots(reservation.request)
end

local function findAttempt(reservation, number)
  for _, attempt in ipairs(reservation.attempts) do
    if attempt.number == number then return attempt end
  end
  return nil
end

local function forget(id)
  redis.call("HDEL", RESERVATIONS, id)
  redis.call("ZREM", LEASES, id)
end

local function save(id, reservation)
  redis.call("HSET", RESERVATIONS, id, cmsgpack.pack(reservation))
end

-- The reservation while its lease runs. A lost one frees its slots; its estimates stay charged.
local function live(id)
  local packed = redis.call("HGET", RESERVATIONS, id)
  if not packed then return nil end
  local reservation = cmsgpack.unpack(packed)
  if reservation.expires > now then return reservation end
  close(reservation)
  for _, attempt in ipairs(reservation.attempts) do
    if not attempt.settled then freeSlots(attempt.target) end
  end
  forget(id)
  return nil
end

-- Keeps the three keys longer than any of their leases.
local function keepUntil(expires)
  local keep = math.max(redis.call("PTTL", LEASES), expires - now + KEEP_MS)
  for _, key in ipairs(KEYS) do redis.call("PEXPIRE", key, whole(keep)) end
end

-- Keeps the reservation at least until then. keepUntil follows.
local function lease(id, reservation, expires)
  reservation.expires = math.max(reservation.expires, expires)
  save(id, reservation)
  redis.call("ZADD", LEASES, whole(reservation.expires), id)
end
`;
