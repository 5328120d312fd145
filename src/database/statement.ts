// Declares a prepared statement, and how it is batched with the statements of other requests.

/** A statement that each connection prepares once, under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /**
   * Outside a transaction the statement is batched with those of other requests. A `read` or `write` never waits for a row lock, so it is
   * sent with any statement of its kind. An `operation` may wait for one, so it is sent only with calls of the same statement.
   */
  readonly batched?: Kind;
  /**
   * The same statement for several callers, which costs less than one statement for each: it takes an array of each parameter (arrays as
   * their text), and returns each row with a `place`, the number of its caller, from 1.
   */
  readonly many?: Statement;
}

export type Kind = 'read' | 'write' | 'operation';
