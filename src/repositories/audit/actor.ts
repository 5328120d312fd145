// Declares the actor of an operation, whom the audit trail names.

export interface Actor {
  /** A subject, a client id, or the name of a part of the service. */
  actor: string;
  address?: string | undefined;
  /** The header Accept-Language, where users change their own account. */
  languages?: string | undefined;
}
