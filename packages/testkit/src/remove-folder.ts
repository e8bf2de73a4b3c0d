import { lstatSync, rmSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Removes a folder and all in it; none there is no error. Use it for folders that processes had their sockets in: Node
 * 20 takes what it last learnt of a path for that of the next whose links it follows, so that after a socket a package
 * loaded late is not found by its real path ("Cannot find module", nodejs/node#51142). Here it learns of a folder last.
 */
export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
  lstatSync(dirname(path));
}
