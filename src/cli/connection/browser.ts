// Opens an address in the browser of whoever sits there.

import { spawn } from "node:child_process";

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

export function openInBrowser(url: string): void {
  const [program = "xdg-open", ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  // Without a browser the printed address is enough.
  child.on("error", () => {});
  child.unref();
}
