import { RESERVATION_LUA } from "./reservation.lua.ts";

/** ARGV: time, lease ms, then ids. Gives those that run no more. */
export const RENEW_LUA = /* lua */ `${RESERVATION_LUA}
local expires = now + tonumber(ARGV[2])
local lost = {}
for index = 3, #ARGV do
  local reservation = live(ARGV[index])
  if reservation then
    lease(ARGV[index], reservation, expires)
  else
    lost[#lost + 1] = ARGV[index]
  end
end
if #lost < #ARGV - 2 then keepUntil(expires) end
return lost
`;
