// Writes the key that a token is bound to as the member `cnf`, and reads it.
import type { Binding } from '../oauth/binding.ts';

/** The member `cnf` of a bound token (RFC 7800 3.1), as it is stored and as introspection shows it. */
export type Confirmation = { readonly jkt: string } | { readonly 'x5t#S256': string };

export function confirmationOf(binding: Binding): Confirmation | undefined {
  if (binding === 'none') return undefined;
  return 'jkt' in binding ? { jkt: binding.jkt } : { 'x5t#S256': binding.x5t };
}

export function bindingOf(cnf: Confirmation | null): Binding {
  if (cnf === null) return 'none';
  return 'jkt' in cnf ? { jkt: cnf.jkt } : { x5t: cnf['x5t#S256'] };
}
