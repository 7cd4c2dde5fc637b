// What the compiler refuses of a route: the lines below that say so would not compile without the
// comment above them, and not with it once they are right.

import Type from "typebox";
import { expect, test } from "vitest";
import { point, Reply, read, write } from "../../src/http/route.ts";

const shape = {
  method: "GET",
  path: "/v1/probes/:id/parts/:part",
  id: "probe",
  tag: "Probe",
  summary: "Probe",
  scope: "read",
  project: "none",
} as const;
const Probe = Type.Object({ name: Type.String(), size: Type.Optional(Type.Integer()) });

test("an answer is what the reply says", async () => {
  const routes = [
    read({ ...shape, reply: [200, Probe], handle: async () => ({ name: "a" }) }),
    // @ts-expect-error: a number is no text
    read({ ...shape, reply: [200, Probe], handle: async () => ({ name: 7 }) }),
    // @ts-expect-error: without a name
    point({ ...shape, reply: [200, Probe], handle: async () => ({ size: 1 }) }),
    // @ts-expect-error: undefined is not the same as left out
    read({ ...shape, reply: [200, Probe], handle: async () => ({ name: "a", size: undefined }) }),
    // @ts-expect-error: nothing is answered
    write({ ...shape, reply: [204, null], handle: async () => ({ name: "a" }) }),
    write({ ...shape, reply: [204, null], handle: async () => {} }),
  ];
  expect(routes).toHaveLength(6);
});

test("an answer with a status of its own is one of those that are declared", () => {
  const both = { ...shape, reply: [200, Probe], also: { 201: Type.String() } } as const;
  const routes = [
    read({ ...both, handle: async () => new Reply(201, "made") }),
    read({ ...both, handle: async () => new Reply(200, { name: "a" }) }),
    // @ts-expect-error: neither of them
    read({ ...both, handle: async () => new Reply(201, 7) }),
  ];
  expect(routes).toHaveLength(3);
});

test("parameters are those of the path", () => {
  const route = read({
    ...shape,
    reply: [200, Probe],
    async handle({ params }) {
      const name: string = params.id + params.part;
      // @ts-expect-error: the path has none of this name
      return { name: name + params.other };
    },
  });
  expect(route.path).toBe(shape.path);
});
