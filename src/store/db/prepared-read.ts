// A read by a statement that its connection may have prepared before. Its columns are asked for
// once on each connection: asking with every read took 24 of the 183 µs of a GET by id. PostgreSQL
// itself refuses a prepared statement whose columns have changed.

import pg from "pg";
import { type Sql, statementName } from "./sql.ts";
import { TYPES } from "./types.ts";

type Column = { readonly name: string; readonly dataTypeID: number };
type Texts = readonly (string | null)[];

/** What a connection was told of a statement, made ready for its rows. */
type Shape = {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
  /** The row of nulls that each row is copied from: faster than adding property after property. */
  readonly empty: Readonly<Record<string, null>>;
};

type Connection = { describe(portal: unknown): void };

/** The part of the driver's class that its types leave out. */
type DriverQuery = {
  name: string;
  callback: (error: Error | null, result: pg.QueryResult) => void;
  prepare(connection: Connection): void;
  handleRowDescription(message: { readonly fields: readonly Column[] }): void;
  handleDataRow(message: { readonly fields: Texts }): void;
};
const DriverQuery = pg.Query as unknown as new (
  text: string,
  values: readonly unknown[],
) => DriverQuery & pg.Submittable;

export class PreparedRead extends DriverQuery {
  #shapes: Map<string, Shape> | undefined;
  readonly #rows: Texts[] = [];

  constructor({ text, values }: Sql, callback: DriverQuery["callback"]) {
    super(text, values);
    this.name = statementName(text);
    this.callback = callback;
  }

  /** The rows of a complete answer. Throws what a value that cannot be read throws. */
  get found(): unknown[] {
    const shape = this.#shapes?.get(this.name);
    return shape === undefined ? [] : this.#rows.map((texts) => rowOf(shape, texts));
  }

  override prepare(connection: Connection): void {
    const { shapes, undescribed } = knownOf(connection);
    this.#shapes = shapes;
    super.prepare(shapes.has(this.name) ? undescribed : connection);
  }

  /** Keeps the first description: it comes again where others were sent before the first answer. */
  override handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    if (!this.#shapes?.has(this.name)) this.#shapes?.set(this.name, shapeOf(fields));
  }

  override handleDataRow({ fields }: { readonly fields: Texts }): void {
    this.#rows.push(fields);
  }
}

type Known = {
  readonly shapes: Map<string, Shape>;
  /** The same connection, which asks for no description. */
  readonly undescribed: Connection;
};

const known = new WeakMap<Connection, Known>();

function knownOf(connection: Connection): Known {
  const before = known.get(connection);
  if (before !== undefined) return before;
  const undescribed: Connection = Object.create(connection, { describe: { value: () => {} } });
  const made = { shapes: new Map<string, Shape>(), undescribed };
  known.set(connection, made);
  return made;
}

function shapeOf(columns: readonly Column[]): Shape {
  return {
    names: columns.map(({ name }) => name),
    parsers: columns.map(({ dataTypeID }) => TYPES.getTypeParser(dataTypeID, "text")),
    empty: Object.fromEntries(columns.map(({ name }) => [name, null])),
  };
}

function rowOf({ names, parsers, empty }: Shape, texts: Texts): Record<string, unknown> {
  const row: Record<string, unknown> = { ...empty };
  for (let i = 0; i < names.length; i++) {
    const text = texts[i];
    if (text != null) row[names[i] ?? ""] = parsers[i]?.(text);
  }
  return row;
}
