// Declares the actor of an operation: who is named in the audit trail.

export interface Actor {
  /** A subject, a client id, or the name of a part of the service. */
  actor: string;
  address?: string | undefined;
  /** The header Accept-Language, where users act on their own account. */
  languages?: string | undefined;
}
