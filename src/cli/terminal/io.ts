// What a command reads from and writes to, as a parameter so that tests can replace it; its errors
// and exit codes.

import type { Readable, Writable } from "node:stream";
import type { ClientSettings } from "../../config.ts";
import type { Effect } from "./effects.ts";
import { printable, visibleJson } from "./visible.ts";

export type Io = {
  readonly settings: ClientSettings;
  out(text: string): void;
  err(text: string): void;
  readonly stdin: Readable;
  /** For what is no text for people: bytes, files, a protocol. Text goes through `out`. */
  readonly stdout: Writable;
  /** Whether a person can be asked: stdin and stderr are a terminal. */
  readonly interactive: boolean;
  /** Whether stderr is a terminal: progress is drawn there, else written line by line. */
  readonly progress: boolean;
  /** Whether stdout is a terminal, so that what is shown once is not kept by a log. */
  readonly terminal: boolean;
  /** How wide the terminal of stdout is; undefined where there is none. */
  readonly columns?: number | undefined;
  /** How wide stderr is, asked each time: a terminal can be resized while progress is drawn. */
  errColumns?(): number | undefined;
  readonly color: boolean;
  readonly run: Run;
  readonly fetch?: typeof fetch;
  /** Asks on the terminal; `hidden` does not show what is typed. */
  ask(question: string, hidden?: boolean): Promise<string>;
};

/** The command that runs, and what became of what it printed. */
export type Run = {
  effect: Effect;
  /** What is to be said when its output is lost, such as how a secret is made anew. */
  if_lost?: string;
  /** Why an output cannot be written any more. */
  readonly lost: { out?: Error; err?: Error };
};

export function newRun(): Run {
  return { effect: "reads", lost: {} };
}

/** The exit codes of the tool. `dues --help` prints this table. */
export const EXIT = {
  done: 0,
  failed: 1,
  drift: 2,
  usage: 64,
  bad_file: 65,
  unreachable: 69,
  not_allowed: 77,
} as const;

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: "done, or nothing to do",
  failed: "failed: the message says why",
  drift: "diff or --dry-run: the project is not what the file says",
  usage: "the command line was not understood",
  bad_file: "the file has faults; nothing was sent",
  unreachable: "the service, or a node of its cluster, did not answer",
  not_allowed: "the token is missing, unknown, or may not do this",
};

/** A failure whose message is shown without a stack, with a hint at what to do. */
export class CliError extends Error {
  readonly exit: number;
  readonly hint: string | undefined;

  constructor(exit: keyof typeof EXIT, message: string, hint?: string) {
    super(message);
    this.exit = EXIT[exit];
    this.hint = hint;
  }
}

/** Ends the command with an exit code after what is wrong was printed. */
export class AlreadyReported extends Error {
  readonly exit: number;
  constructor(exit: keyof typeof EXIT) {
    super("already reported");
    this.exit = EXIT[exit];
  }
}

/** The streams as commands get them: everything that is printed goes through here. */
export function guarded(io: Io): Io {
  return {
    ...io,
    out: (text) => io.out(printable(text)),
    err: (text) => io.err(printable(text)),
    ask: (question, hidden) => io.ask(printable(question), hidden),
  };
}

/** `indent` 0 writes one line. */
export function printJson(io: Io, value: unknown, indent = 2): void {
  io.out(jsonText(value, indent));
}

export function jsonText(value: unknown, indent = 2): string {
  return `${visibleJson(JSON.stringify(value, null, indent))}\n`;
}

/** Writes as it is, and waits for whoever reads: what is written may be longer than memory. */
export function writeRaw(to: Writable, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    to.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}
