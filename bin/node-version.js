// Ends the process, saying what to install, unless package.json's `engines` allows this Node.
// Imported first: what comes after it may fail on an older Node with an error that helps nobody.

import { readFileSync } from "node:fs";

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const ranges = engines.node.split(" || ").map(read);

/** `^20.15` is 20.15 and newer of Node 20 alone, `>=22.2` everything from 22.2 on. */
function read(range) {
  const [, sign, major, minor] = /^(\^|>=)(\d+)\.(\d+)$/.exec(range);
  return { major: Number(major), minor: Number(minor), isOneMajor: sign === "^" };
}

function allows(range) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major === range.major) return minor >= range.minor;
  return !range.isOneMajor && major > range.major;
}

if (!ranges.some(allows)) {
  const wanted = ranges.map(({ major, minor, isOneMajor }) => {
    return isOneMajor ? `${major}.${minor} or newer of ${major}` : `${major}.${minor} or newer`;
  });
  console.error(
    `dues needs Node ${wanted.join(", or ")}; this is ${process.versions.node}.\n` +
      "Install the newest LTS from https://nodejs.org, or with nvm: nvm install --lts",
  );
  process.exit(1);
}
