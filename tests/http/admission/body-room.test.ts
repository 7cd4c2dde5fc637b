// Bodies of all callers together: bounded while they come in, with a share for each sender and room
// of their own for small ones; and large ones in turn.

import { request } from "node:http";
import type { AddressInfo } from "node:net";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { BodyRoom, type Sender } from "../../../src/http/admission/body-room.ts";
import { Bounds } from "../../../src/http/admission/bound.ts";
import { type App, startApp } from "../../support/app.ts";
import { shownBound } from "../../support/bounds.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const BUSY = { status: 503, headers: { "retry-after": "1" } };

function sender(token_id: string, organization_id = `organization of ${token_id}`): Sender {
  return { token_id, organization_id };
}

describe("the room", () => {
  const refused = (work: () => unknown) => expect(work).toThrow(expect.objectContaining(BUSY));

  /** Large ones of two organizations, which take all. */
  function full(): BodyRoom {
    const room = new BodyRoom(new Bounds());
    for (const id of ["a", "b"]) room.hold(16 * MIB, sender(id));
    return room;
  }

  test("is 32 MiB for what comes in", () => {
    const room = new BodyRoom(new Bounds());
    room.hold(16 * MIB, sender("a"));
    const held = room.hold(8 * MIB, sender("b"));
    room.hold(8 * MIB, sender("c"));
    refused(() => room.hold(MIB, sender("d")));
    held.end();
    // A second end gives nothing back.
    held.end();
    room.hold(8 * MIB, sender("d"));
    refused(() => room.hold(MIB, sender("e")));
  });

  test("gives one token half and its organization three quarters, whoever else sends", () => {
    const room = new BodyRoom(new Bounds());
    const held = room.hold(8 * MIB, sender("a", "acme"));
    room.hold(8 * MIB, sender("a", "acme"));
    refused(() => room.hold(MIB, sender("a", "acme")));
    room.hold(8 * MIB, sender("b", "acme"));
    refused(() => room.hold(MIB, sender("c", "acme")));
    held.end();
    room.hold(MIB, sender("a", "acme"));
    room.hold(7 * MIB, sender("c", "acme"));
    room.hold(8 * MIB, sender("d", "other"));
  });

  test("has 4 MiB more for bodies of up to 64 KiB, in the same shares", () => {
    const room = full();
    refused(() => room.hold(64 * KIB + 1, sender("c")));
    const hold = (id: string, count: number) => {
      for (let i = 0; i < count; i++) room.hold(64 * KIB, sender(id));
    };
    hold("c", 32);
    refused(() => room.hold(1, sender("c")));
    hold("d", 32);
    refused(() => room.hold(1, sender("e")));
  });

  test("takes as many small bodies of one token as large ones leave room for", () => {
    const room = new BodyRoom(new Bounds());
    const count = (2 * MIB + 16 * MIB) / (64 * KIB);
    for (let i = 0; i < count; i++) room.hold(64 * KIB, sender("a"));
    refused(() => room.hold(1, sender("a")));
    // Strangers have a share together.
    room.hold(4 * KIB);
  });

  test("counts a body that announces nothing by what has come, a large one among the large", () => {
    const room = full();
    const held = room.hold(0, sender("c"));
    held.grow(64 * KIB);
    refused(() => held.grow(64 * KIB + 1));
    held.end();
    for (let i = 0; i < 32; i++) room.hold(64 * KIB, sender("c"));

    const free = new BodyRoom(new Bounds());
    const growing = free.hold(0, sender("c"));
    for (const size of [KIB, 64 * KIB, MIB, 16 * MIB]) growing.grow(size);
    refused(() => free.hold(64 * KIB + 1, sender("c")));
    growing.end();
    free.hold(16 * MIB, sender("c"));
  });

  test("lets small bodies pass and works on two large ones at a time", async () => {
    const room = new BodyRoom(new Bounds());
    expect(await room.turn(MIB)).toBeUndefined();
    const first = await room.turn(2 * MIB);
    const second = await room.turn(2 * MIB);
    let isThird = false;
    const third = room.turn(2 * MIB)?.then((end) => {
      isThird = true;
      return end;
    });
    await Promise.resolve();
    expect(isThird).toBe(false);
    first?.();
    (await third)?.();
    second?.();
  });
});

describe("the line of large bodies", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  test("is left with 503 after two seconds, and the place is free again", async () => {
    const bounds = new Bounds();
    const shown = () => shownBound(bounds, "large_bodies");
    const room = new BodyRoom(bounds);
    const ends = [await room.turn(2 * MIB), await room.turn(2 * MIB)];
    const waiting = Array.from({ length: 4 }, () => room.turn(2 * MIB));
    const left = Promise.all(waiting.map((turn) => expect(turn).rejects.toMatchObject(BUSY)));
    await vi.advanceTimersByTimeAsync(1_999);
    expect(await shown()).toMatchObject({ level: 6 });
    await vi.advanceTimersByTimeAsync(1);
    await left;
    expect(await shown()).toMatchObject({ level: 2 });
    const next = room.turn(2 * MIB);
    // Those who left get no turn, so it is the next one's.
    ends[0]?.();
    expect(await next).toBeTypeOf("function");
    ends[1]?.();
    (await next)?.();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await shown()).toMatchObject({ level: 0 });
  });
});

test("an organization whose large bodies fill the line holds up no other", async () => {
  const room = new BodyRoom(new Bounds());
  const began: string[] = [];
  const turn = async (id: string) => {
    const end = await room.turn(2 * MIB, sender(id));
    began.push(id);
    return end;
  };
  const many = Array.from({ length: 5 }, () => turn("many"));
  const one = turn("one");
  (await many[0])?.();
  (await one)?.();
  expect(began).toEqual(["many", "many", "one"]);
  // Then all others, in order.
  for (const next of many.slice(1)) (await next)?.();
  expect(began).toHaveLength(6);
});

describe("through HTTP", () => {
  let app: App;
  beforeAll(async () => {
    app = await startApp();
    await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  });
  afterAll(() => app.close());

  function headersOf(token = app.profile.token) {
    return {
      authorization: `Bearer ${token}`,
      "x-project-id": app.profile.project_id,
      "content-type": "application/json",
    };
  }

  function post(path: string, size: number, token?: string): Promise<number> {
    const { port } = app.server.fastify.server.address() as AddressInfo;
    const event = { transaction_id: "t", subscription_id: "ext:none", code: "calls" };
    const filler = Math.floor(size / 800);
    const events = Array.from({ length: filler }, (_, i) => ({
      ...event,
      transaction_id: `t-${i}`,
      properties: { pad: "x".repeat(700) },
    }));
    return new Promise((resolve, reject) => {
      const headers = headersOf(token);
      const sent = request({ port, host: "127.0.0.1", method: "POST", path, headers }, (answer) => {
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
      });
      sent.on("error", reject);
      sent.end(JSON.stringify({ events }));
    });
  }

  test("of thirty large batches at once some are refused, and then all is as before", async () => {
    const statuses = await Promise.all(Array.from({ length: 30 }, () => post(BATCH, 3 * MIB)));
    // Those at work; how many more get their turn in time is the machine's speed.
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(2);
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(0);
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
    for (let i = 0; i < 12; i++) expect(await post(BATCH, 2 * MIB)).toBe(200);
  });

  /** A body of which the first byte has come. */
  function begin(announced: number) {
    const { port } = app.server.fastify.server.address() as AddressInfo;
    const headers = { ...headersOf(), "content-length": announced };
    const sent = request({ port, host: "127.0.0.1", method: "POST", path: BATCH, headers });
    sent.on("error", () => {}).write("{");
    onTestFinished(() => void sent.destroy());
    const status = new Promise((resolve) => {
      sent.on("response", (answer) => resolve(answer.resume().statusCode));
    });
    return { sent, status };
  }

  test("a token that announces much and sends it slowly keeps out neither small bodies nor others", async () => {
    const { level: before = 0 } = await shownBound(app.server.bounds, "body_bytes");
    const level = async () => (await shownBound(app.server.bounds, "body_bytes")).level;
    const { organization_id } = app.profile;
    const scopes = ["events"];
    const other = await app.post("/v1/keys", { name: "other", organization_id, scopes });
    const announced = 8 * MIB;
    const held = Array.from({ length: 2 }, () => begin(announced));
    await expect.poll(level).toBe(before + 2 * announced);
    const more = Array.from({ length: 2 }, () => begin(announced));
    // Before they are sent.
    for (const { status } of more) expect(await status).toBe(503);
    const rest = '"events":[{}]}';
    const small = begin(1 + rest.length);
    await expect.poll(level).toBe(before + 2 * announced + 1 + rest.length);
    small.sent.end(rest);
    expect(await small.status).toBe(200);
    // Also one that came as a whole, which needs no room.
    expect(await post(BATCH, 2 * KIB)).toBe(200);
    expect(await post(BATCH, 2 * MIB, other.token)).toBe(200);
    for (const { sent } of [...held, ...more]) sent.destroy();
    await expect.poll(level).toBe(before);
  });

  test("a stranger's body is refused beyond 4 KiB", async () => {
    expect(await post("/v1/keys", 8 * 1024)).toBe(413);
  });

  const BATCH = "/v1/events/batch";
});
