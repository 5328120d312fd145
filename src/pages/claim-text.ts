// Writes the values of claims as users read them.
import { releasedClaims, type Subject } from '../rules/claims/claims.ts';
import type { OwnScopes } from '../oauth/scope.ts';
import type { ClaimText } from './views/index.ts';

/** A claim with its text, which is empty without a value; pages write a boolean in words, and a day as a date. */
export function legible(claim: string, value: unknown): ClaimText {
  if (typeof value === 'boolean') return { claim, value: String(value), flag: value };
  if (claim !== 'updated_at' || typeof value !== 'number') return { claim, value: readable(value) };
  const day = new Date(value * 1000);
  return { claim, value: day.toISOString().slice(0, 10), day };
}

/** A scope with the values that it would release; those without a value are left out. */
export function scopeView(
  user: Subject,
  { ownScopes }: { ownScopes: OwnScopes },
  scope: string,
): { scope: string; claims: ClaimText[]; text?: Record<string, string> } {
  const claims = Object.entries(releasedClaims(user, [scope], ownScopes))
    .map(([claim, value]) => legible(claim, value))
    .filter(({ value }) => value !== '');
  return { scope, claims, ...(Object.hasOwn(ownScopes, scope) && { text: ownScopes[scope]!.text }) };
}

function readable(value: unknown): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value === 'object' && value !== null) return String((value as { formatted?: unknown }).formatted ?? '');
  return String(value);
}
