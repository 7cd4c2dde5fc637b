// A batch of calls is answered in time, also when each of them would wait for the database.

import { beforeEach, expect, test, vi } from "vitest";
import { refuse } from "../../../src/errors.ts";
import { answerRpc, type Server } from "../../../src/http/mcp/protocol.ts";
import type { RestAnswer, Tool } from "../../../src/http/mcp/tools.ts";
import type { RpcReply } from "../../../src/schema/mcp.ts";

const TOOL = { name: "get_plan" } as Tool;
const FINE: RestAnswer = { status: 200, body: { plan: {} } };

let tried = 0;
beforeEach(() => {
  tried = 0;
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  return () => vi.useRealTimers();
});

/** Answers calls as told, each after so many milliseconds. */
function server(answer: (call: number) => RestAnswer | Promise<RestAnswer>, took_ms = 0): Server {
  const run = async () => {
    vi.advanceTimersByTime(took_ms);
    tried += 1;
    return answer(tried);
  };
  return { tools: [TOOL], info: { name: "dues", title: "dues", version: "1" }, run };
}

/** What became of each message of a batch of so many calls and a ping. */
async function answersTo(asked: Server, calls: number): Promise<unknown[]> {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: TOOL.name } };
  const batch = [...Array.from({ length: calls }, () => call), { ...call, method: "ping" }];
  const { reply } = await answerRpc(asked, Buffer.from(JSON.stringify(batch)), {});
  return (reply as RpcReply[]).map((reply) => {
    const { isError, content } = (reply as { result: Result }).result;
    if (isError !== true) return isError === false ? "done" : "pong";
    const { code, retryable } = JSON.parse(content[0]?.text ?? "").error;
    return { code, retryable };
  });
}
type Result = { readonly isError?: boolean; readonly content: readonly { text: string }[] };

const AWAY = { code: "unavailable", retryable: true };

test("after a call that found the service unavailable those behind it are not tried", async () => {
  const thrown = server((call) => {
    if (call === 2) throw refuse("unavailable", "The database is away.");
    return FINE;
  });
  expect(await answersTo(thrown, 4)).toEqual(["done", AWAY, AWAY, AWAY, "pong"]);
  expect(tried).toBe(2);

  tried = 0;
  const error = { ...AWAY, message: "The database is away." };
  const answered = server((call) => (call === 1 ? { status: 503, body: { error } } : FINE));
  expect(await answersTo(answered, 3)).toEqual([AWAY, AWAY, AWAY, "pong"]);
  expect(tried).toBe(1);
});

test("a call that fails otherwise stops none behind it", async () => {
  const missing = server((call) => {
    if (call === 1) throw refuse("not_found", "No plan has this id.");
    return FINE;
  });
  const found = { code: "not_found", retryable: false };
  expect(await answersTo(missing, 3)).toEqual([found, "done", "done", "pong"]);
});

test("no call of a batch is begun after four seconds", async () => {
  const slow = server(() => FINE, 1_500);
  expect(await answersTo(slow, 5)).toEqual(["done", "done", "done", AWAY, AWAY, "pong"]);
});

test("one that was begun late is answered in time, though it goes on", async () => {
  const answer = (call: number) => {
    vi.advanceTimersByTime(call === 1 ? 3_900 : 0);
    return call === 1 ? FINE : new Promise<RestAnswer>(() => {});
  };
  const answers = answersTo(server(answer), 3);
  await vi.advanceTimersByTimeAsync(600);
  expect(await answers).toEqual(["done", AWAY, AWAY, "pong"]);
  expect(tried).toBe(2);
});
