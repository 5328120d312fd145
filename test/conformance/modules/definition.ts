// Defines a module: the clause of its requirement, and what it does with a relying party that has started.
import type { RelyingParty } from '../relying-party.ts';

export interface Module {
  /** Ends the test's title. */
  clause: string;
  run(rp: RelyingParty): Promise<void>;
}

export type Modules = Readonly<Record<string, Module>>;
