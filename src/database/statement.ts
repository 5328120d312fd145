// Declares a prepared statement, and how it goes together with those of other requests.

/** A statement that is prepared once a connection under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /**
   * Outside a transaction it goes with those of other requests: what waits for no lock of another transaction (`read`, `write`) with any of
   * its kind, what may wait (an `act`) only with the same.
   */
  readonly shared?: Kind;
  /**
   * The same for several at once, which costs less than each by itself: it takes an array of each parameter (of arrays, their texts),
   * and gives each row with a `place`, the number from 1 of whom it is for.
   */
  readonly many?: Statement;
}

export type Kind = 'read' | 'write' | 'act';
