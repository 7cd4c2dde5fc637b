// Bodies of all callers together: bounded while they come in, and large ones in turn.

import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { BodyRoom } from "../../../src/http/limits/body-room.ts";
import { Bounds } from "../../../src/http/limits/bound.ts";
import { type App, startApp } from "../../support/app.ts";
import { shownBound } from "../../support/bounds.ts";

const MIB = 1024 * 1024;
const BUSY = { status: 503, headers: { "retry-after": "1" } };

describe("the room", () => {
  test("is 32 MiB for what comes in", () => {
    const room = new BodyRoom(new Bounds());
    room.take(32 * MIB);
    expect(() => room.take(1)).toThrow(expect.objectContaining(BUSY));
    room.give(1);
    room.take(1);
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

describe("through HTTP", () => {
  let app: App;
  beforeAll(async () => {
    app = await startApp();
    await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  });
  afterAll(() => app.close());

  function headersOf() {
    return {
      authorization: `Bearer ${app.profile.token}`,
      "x-project-id": app.profile.project_id,
      "content-type": "application/json",
    };
  }

  function post(path: string, size: number): Promise<number> {
    const { port } = app.server.fastify.server.address() as AddressInfo;
    const event = { transaction_id: "t", subscription_id: "ext:none", code: "calls" };
    const filler = Math.floor(size / 800);
    const events = Array.from({ length: filler }, (_, i) => ({
      ...event,
      transaction_id: `t-${i}`,
      properties: { pad: "x".repeat(700) },
    }));
    return new Promise((resolve, reject) => {
      const headers = headersOf();
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

  test("a body that announces more than there is room for is refused before it is sent, a small one not", async () => {
    const { port } = app.server.fastify.server.address() as AddressInfo;
    const announced = 8 * MIB;
    const begin = () => {
      const headers = { ...headersOf(), "content-length": announced };
      const sent = request({ port, host: "127.0.0.1", method: "POST", path: BATCH, headers });
      sent.on("error", () => {}).write("{");
      return sent;
    };
    const held = Array.from({ length: 4 }, begin);
    const level = async () => (await shownBound(app.server.bounds, "body_bytes")).level;
    await expect.poll(level).toBe(4 * announced);
    const refused = begin();
    const status = await new Promise((resolve) => {
      refused.on("response", (answer) => resolve(answer.resume().statusCode));
    });
    expect(status).toBe(503);
    // One that needs no room is not kept out.
    expect(await post(BATCH, 2 * 1024)).toBe(200);
    for (const sent of [...held, refused]) sent.destroy();
    await expect.poll(level).toBe(0);
  });

  test("a stranger's body is refused beyond 4 KiB", async () => {
    expect(await post("/v1/keys", 8 * 1024)).toBe(413);
  });

  const BATCH = "/v1/events/batch";
});
