// Defines the error of the embedded PostgreSQL, whose message is a sentence for the operator.

/** Says in one sentence what is wrong with the embedded database and what to do. `cause` holds the technical error. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

/** The code of a system or database error, e.g. "EACCES" or "57P03". */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The message of any thrown value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
