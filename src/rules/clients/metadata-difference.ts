// Compares two versions of client metadata member by member, for the administrator who approves the change.
import { isDeepStrictEqual } from 'node:util';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';

/** One member that differs. Lists and scope are compared by their entries, other members as a whole. */
export interface MemberChange {
  member: string;
  added: string[];
  removed: string[];
  kept: string[];
}

/** Returns the members that differ, sorted by name. Their values are untrusted text. */
export function metadataDifference(current: ClientMetadata, next: ClientMetadata): MemberChange[] {
  const before: Record<string, unknown> = { ...current };
  const after: Record<string, unknown> = { ...next };
  return (
    [...new Set([...Object.keys(before), ...Object.keys(after)])]
      // an absent boolean is false
      .filter((member) => !isDeepStrictEqual(before[member] ?? false, after[member] ?? false))
      .sort()
      .map((member) => {
        const [old, fresh] = [entries(member, before[member]), entries(member, after[member])];
        return {
          member,
          added: fresh.filter((entry) => !old.includes(entry)),
          removed: old.filter((entry) => !fresh.includes(entry)),
          kept: fresh.filter((entry) => old.includes(entry)),
        };
      })
      .filter(({ added, removed }) => added.length + removed.length > 0)
  );
}

/** Returns the entries of a member as text. */
export function entries(member: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (member === 'scope' && typeof value === 'string') return value.split(' ').filter((scope) => scope !== '');
  if (Array.isArray(value)) return value.map(asText);
  if (member === 'jwks' && typeof value === 'object' && value !== null && 'keys' in value && Array.isArray(value.keys))
    return value.keys.map(asText);
  return [asText(value)];
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
