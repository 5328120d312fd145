// Derives the limits of a body with the members of an entity from what these can hold.
import { type JsonLimits, usualBody, usualJson } from '../oauth/json-text.ts';
import type { Members } from './entity.ts';

/** The bytes of a body with these members beyond the usual ones. Undefined if none declares more. */
export const bodyLimitOf = (members: Members): number | undefined => {
  const bytes = Object.values(members).reduce((sum, { holds }) => sum + (holds?.bytes ?? 0), 0);
  return bytes === 0 ? undefined : usualBody + bytes;
};

/** The limits of a JSON body with these members: the usual ones, and what the members declare. Undefined if none declares more. */
export function jsonLimitsOf(members: Members): JsonLimits | undefined {
  const large = Object.values(members).flatMap(({ holds }) => holds ?? []);
  if (large.length === 0) return undefined;
  return {
    // the body is a level of its own
    depth: Math.max(usualJson.depth, ...large.map(({ depth }) => 1 + depth)),
    members: large.reduce((sum, { members: more }) => sum + more, usualJson.members),
  };
}

/** Both, as an operation declares them. */
export function bodyLimitsOf(members: Members): { json?: JsonLimits; bodyLimit?: number } {
  const [json, bodyLimit] = [jsonLimitsOf(members), bodyLimitOf(members)];
  return { ...(json && { json }), ...(bodyLimit !== undefined && { bodyLimit }) };
}
