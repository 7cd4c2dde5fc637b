// Says what is being done and for how long: on a terminal in one line that moves, elsewhere with a
// line when it begins and one when it is done.

const DRAW_MS = 250;
const CLEAR_LINE = "\r\x1b[K";

/** `count` says how far it is, such as "63 of 111 packages"; it is asked while the line moves. */
export async function telling(what, work, count = () => "") {
  const { stderr } = process;
  const start = performance.now();
  const seconds = () => `${Math.round((performance.now() - start) / 1_000)} s`;
  if (!stderr.isTTY) {
    stderr.write(`${what}.\n`);
    const done = await work();
    stderr.write(`${what}: done in ${seconds()}.\n`);
    return done;
  }
  const draw = () => {
    const parts = [count(), seconds()].filter((part) => part !== "");
    stderr.write(`${CLEAR_LINE}${what}: ${parts.join(", ")}`);
  };
  draw();
  const timer = setInterval(draw, DRAW_MS);
  try {
    const done = await work();
    stderr.write(`${CLEAR_LINE}${what}: done in ${seconds()}.\n`);
    return done;
  } catch (error) {
    stderr.write(CLEAR_LINE);
    throw error;
  } finally {
    clearInterval(timer);
  }
}
