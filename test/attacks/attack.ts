// Registers an attack case: the test and the documentation take its request, its safe answer and its source from here.
import { test } from 'vitest';

/** Every text is one plain string literal, so that the documentation can be written without running the tests. */
export interface AttackCase {
  /** The case's number, such as A12, or P44 for the protocols beyond OpenID Connect. */
  id: `A${number}` | `P${number}`;
  /** The name of the attack, such as "Consent double-submit". */
  name: string;
  /** What the attacker sends, in one sentence. */
  request: string;
  /** What the service answers, in one sentence. */
  answer: string;
  /** The source of the case: standards, advisories and issues of other identity providers. */
  source: string;
  /** The requirements that it tests, such as R4 and R15. */
  requirements: `R${number}`[];
}

export function attack(attackCase: AttackCase, run: () => Promise<void> | void, timeout?: number): void {
  const { id, name, answer, requirements } = attackCase;
  test(`${name}: ${answer} (security ${[id, ...requirements].join(', ')})`, run, timeout);
}
