// Declares the error of a message that the reader does not admit.

/**
 * `weight`: too large, too many or too deep. `form`: not what section 9 admits. `signature`: no pinned key signed it, or it could not be decrypted.
 * `check`: well-formed and signed, but not for this service, this request or this time.
 */
export type SamlReason = 'weight' | 'form' | 'signature' | 'check';

/** A message is not admitted. The text is for the log: it quotes nothing of the message. */
export class SamlRefused extends Error {
  readonly reason: SamlReason;
  constructor(reason: SamlReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}
