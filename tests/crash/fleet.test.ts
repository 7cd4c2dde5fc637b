// What the tests with processes forgive a busy machine, and what they do not.

import { expect, test } from "vitest";
import { notOfTheMachine } from "./fleet.ts";

const line = (msg: string) => JSON.stringify({ level: 50, msg });
const connection = line("timeout exceeded when trying to connect");
const queue = line("Too many requests wait for the database. Try again.");
const statement = line("canceling statement due to statement timeout");
const lock = line("canceling statement due to lock timeout");
const other = line("deadlock detected");

test("waits for a connection, and a few statements that took too long, are forgiven", () => {
  const waits = Array.from({ length: 500 }, (_, i) => (i % 2 === 0 ? connection : queue));
  const errors = [...waits, ...Array(5).fill(statement), ...Array(5).fill(lock)];
  expect(notOfTheMachine(errors, 2)).toEqual([]);
});

test("anything else is told, beside them too", () => {
  expect(notOfTheMachine([connection, other, statement], 2)).toEqual([other]);
});

test("more statements than a few for each process are told, every one", () => {
  const many = Array(11).fill(statement);
  expect(notOfTheMachine([connection, ...many], 2)).toEqual(many);
});
