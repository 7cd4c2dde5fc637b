// The laws of a Citus cluster by name, and what is known where they are held. PostgreSQL alone
// accepts what they forbid, and so does Citus often, which then asks all nodes or answers wrongly.

export type Law =
  /** Each table has its own `project_id = $n`; else all nodes are asked. */
  | "project"
  /** A statement over several projects joins its tables by the project, or Citus refuses it. */
  | "joined"
  /** One over some projects says of each table which: else it needs the nodes of all. */
  | "part"
  /** A statement over several projects locks no rows: Citus refuses it. */
  | "row lock"
  /** Rows come from VALUES or from a table of the project; else they are copied and prepared. */
  | "insert"
  /** No INSERT in a CTE; else its rows are copied to every node. */
  | "cte"
  /** Nothing volatile where rows change, nothing mutable in RETURNING: Citus refuses it. */
  | "volatile"
  /** No ctid, xmin, transaction id or snapshot: each node counts its own. */
  | "system column"
  /** No subquery from a reference table into a distributed one: Citus refuses it. */
  | "reference"
  /** A reference table is written on all nodes at once, which fails while any of them is away. */
  | "copies"
  /** Advisory locks are taken in delegated functions; else each process locks on its own node. */
  | "lock"
  /** A notification that is sent along with a query is sent by another node, and not heard. */
  | "notify"
  /** A call of a delegated function is the whole statement; else it runs where the caller is. */
  | "function"
  /** Only tables of the two lists: the catalog shows one node, and a new table must be placed. */
  | "table"
  /** A statement on the rows of a trigger names no other table: Citus cannot find those rows. */
  | "transition"
  /** What is not a plain query cannot be looked at. */
  | "dynamic"
  /** The project of a row never changes: Citus refuses it. */
  | "move";

export type Breach = { readonly law: Law; readonly says: string };

/** What the database knows of its functions and columns. */
export type Catalog = {
  /** Functions as `name/arguments` of which some variant is volatile, or not immutable. */
  readonly volatile: ReadonlySet<string>;
  readonly mutable: ReadonlySet<string>;
  /** The functions that the migrations made, without those of triggers and parts of statements. */
  readonly own: ReadonlySet<string>;
  /** Columns that can be joined by `||` without a conversion, which is not immutable. */
  readonly joinable: ReadonlySet<string>;
};

export type Setting = Catalog & {
  /** The values of the parameters, and which of them stands for the project. */
  readonly sent?: { readonly values: readonly unknown[]; readonly project: unknown };
  /** The function that the statement stands in. */
  readonly within?: {
    readonly variables: ReadonlySet<string>;
    /** The rows of its trigger. */
    readonly transitions: ReadonlySet<string>;
    /** It runs on the node of its project. */
    readonly delegated: boolean;
  };
};
