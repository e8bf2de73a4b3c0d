import { RESERVATION_LUA } from "./reservation.lua.ts";

/** ARGV: time, lease ms, then ids. Says how many of them still run. */
export const RENEW_LUA = /* lua */ `${RESERVATION_LUA}
local expires = now + tonumber(ARGV[2])
local renewed = 0
for index = 3, #ARGV do
  local reservation = live(ARGV[index])
  if reservation then
    lease(ARGV[index], reservation, expires)
    renewed = renewed + 1
  end
end
if renewed > 0 then keepUntil(expires) end
return renewed
`;
