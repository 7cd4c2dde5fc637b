// The Chromium of the machine, if there is one.

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { App } from "../support/app.ts";

const CANDIDATES = [
  process.env.CHROMIUM_PATH,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

export const CHROMIUM = CANDIDATES.find((path) => path !== undefined && existsSync(path));

export const SKIPPED =
  "no Chromium on this machine: install it (Debian: apt-get install chromium) or set CHROMIUM_PATH";

export function launch(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error(SKIPPED);
  // As root, in a container, Chromium's own sandbox cannot start.
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

export const PHONE = { width: 360, height: 740 };

/** What a page is looked at in: every day in two, which have each kind once; deep runs have all. */
export const LOOKS: readonly (readonly [string, BrowserContextOptions])[] = [
  ["wide", {}],
  ["phone-dark", { viewport: PHONE, colorScheme: "dark" }],
  ...(process.env.DUES_DEEP === "1"
    ? ([
        ["dark", { colorScheme: "dark" }],
        ["phone", { viewport: PHONE }],
      ] as const)
    : []),
];

/** Where the app's pages are, once it listens. */
export async function serve({ server }: App): Promise<string> {
  await server.fastify.listen({ port: 0, host: "127.0.0.1" });
  return `http://127.0.0.1:${(server.fastify.server.address() as AddressInfo).port}`;
}

/** How far the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - innerWidth") as Promise<number>;
}

/** Kept for people to look at. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = join(tmpdir(), `dues-screenshots-${userInfo().uid}`);
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Of the words on the page and what is behind them; 4.5 is what readers with weak eyes need. */
export function leastContrast(page: Page): Promise<number> {
  return page.evaluate(`(() => {
    const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number)
      .map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
      .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
      const { backgroundColor } = getComputedStyle(element);
      return /, 0\\)$|transparent/.test(backgroundColor) && element.parentElement
        ? behind(element.parentElement) : backgroundColor;
    };
    const found = [...document.querySelectorAll("p,dt,dd,h1,h2,h3,th,td,small,button,.button,.pill,span")]
      .filter((element) => element.offsetWidth > 1 && element.innerText.trim() !== "")
      .map((element) => {
        const pair = [getComputedStyle(element).color, behind(element)].map(light);
        return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
      });
    return Math.min(...found);
  })()`) as Promise<number>;
}
