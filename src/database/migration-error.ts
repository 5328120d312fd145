// Defines the error that stops a start because of the schema.

/** The database cannot be used as it is; the message says what to do. */
export class MigrationError extends Error {}
