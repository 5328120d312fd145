// Makes claims for one client by rules that administrators set. A rule has a closed list of steps, and no expressions (federation 7, FR41).
import { z } from 'zod';
import { storableClaims, supportedClaims } from '../../oauth/claim-names.ts';
import { rule } from '../../oauth/refusals.ts';
import { mayMakeClaim } from './reserved-claims.ts';
import { text } from '../../oauth/text.ts';

/** The places where a client can get a claim. */
export const claimPlaces = ['id_token', 'userinfo', 'introspection', 'saml'] as const;
export type ClaimPlace = (typeof claimPlaces)[number];

/** The most rules of a client, and the most values that a rule replaces. */
export const maxClaimRules = 50;
const maxReplaced = 200;

/** Whether a rule can read a value of this name: an attribute, a standard claim, the groups, the roles, or a constant. */
export const isSource = (from: string): boolean =>
  from !== 'sub' &&
  ([...storableClaims, ...supportedClaims, 'groups', 'roles', 'constant'].includes(from) ||
    (/^[a-z][a-z0-9_]{0,49}$/.test(from) && mayMakeClaim(from)));

const word = text(255);
/** Which values of the source a rule keeps: its two ways exclude each other. */
export const keptValues = { prefix: word.min(1), one_of: z.array(word).min(1).max(200) };
export const claimRuleMembers = z.strictObject({
  claim: z.string(rule('string')).refine(mayMakeClaim, rule('claim-name')).describe('The name of the claim.'),
  from: z
    .string(rule('string'))
    .refine(isSource, rule('claim-source'))
    .describe('An attribute, a standard claim, groups, roles, or constant.'),
  value: z
    .union([z.string().max(1000), z.number(), z.boolean()])
    .optional()
    .describe('The value of a constant.'),
  only: z
    .union(
      [z.strictObject({ prefix: keptValues.prefix }), z.strictObject({ one_of: keptValues.one_of })],
      rule('claim-only'),
    )
    .optional()
    .describe('Keeps only values that begin with the prefix, or that are among these.'),
  strip: word.optional().describe('Removes this prefix from values that have it.'),
  case: z.enum(['lower', 'upper']).optional(),
  map: z
    .record(z.string().max(255), word)
    .refine((map) => Object.keys(map).length <= maxReplaced, rule('entries', { most: String(maxReplaced) }))
    .optional()
    .describe('Replaces values; others stay as they are.'),
  as: z
    .enum(['list', 'first', 'joined'])
    .optional()
    .describe('A list, the first value, or all values with commas between them; without it the form of the source.'),
  default: z
    .union([word, z.array(word).max(100)])
    .optional()
    .describe('The value if none is left.'),
  into: z
    .array(z.enum(claimPlaces))
    .min(1, rule('claim-places'))
    .refine((all) => new Set(all).size === all.length, rule('claim-places'))
    .describe('id_token, userinfo, introspection, and saml for the attributes of a SAML application.'),
});
const claimRule = claimRuleMembers.refine(({ from, value }) => (from === 'constant') === (value !== undefined), {
  path: ['value'],
  ...rule('claim-constant'),
});
export type ClaimRule = z.infer<typeof claimRule>;

/** What the rules of a client can have in JSON: the members of each, the way in `only`, and the entries of `map`. */
export const claimRulesHold = {
  depth: 4,
  members: maxClaimRules * (Object.keys(claimRuleMembers.shape).length + 1 + maxReplaced),
};

/** The rules of a client. Two rules must not make the same claim at the same place. */
export const claimRulesShape = z
  .array(claimRule)
  .max(maxClaimRules, rule('entries', { most: String(maxClaimRules) }))
  .refine(
    (rules) => {
      const made = rules.flatMap(({ claim, into }) => into.map((place) => `${place} ${claim}`));
      return new Set(made).size === made.length;
    },
    { ...rule('claim-twice') },
  );

/** Applies one rule to the value of its source. Undefined if no value is left: then the rule makes no claim. */
function ruled(given: ClaimRule, value: unknown): unknown {
  const { only, strip, case: letters, map, as } = given;
  const many = Array.isArray(value);
  const values = (many ? (value as unknown[]) : [value]).filter((one) => one !== undefined && one !== null);
  const changes = only ?? strip ?? letters ?? map;
  const made = values.flatMap((one) => {
    if (changes === undefined || typeof one === 'object') return [one];
    let text = String(one);
    if (only && ('prefix' in only ? !text.startsWith(only.prefix) : !only.one_of.includes(text))) return [];
    if (strip !== undefined && text.startsWith(strip)) text = text.slice(strip.length);
    if (letters) text = letters === 'lower' ? text.toLowerCase() : text.toUpperCase();
    if (map && Object.hasOwn(map, text)) text = map[text]!;
    // a value that the rule only selects keeps its type
    return text === '' ? [] : [text === String(one) ? one : text];
  });
  if (made.length === 0) return given.default;
  if (as === 'joined') return made.map(String).join(',');
  if (as === 'first') return made[0];
  return as === 'list' || many ? made : made[0];
}

/** Returns the claims that the rules make for one place. @param source returns the user's value of a source */
export function ruledClaims(
  rules: readonly ClaimRule[],
  source: (from: string) => unknown,
  place: ClaimPlace,
): Record<string, unknown> {
  const claims: Record<string, unknown> = {};
  for (const each of rules) {
    if (!each.into.includes(place)) continue;
    const value = ruled(each, each.from === 'constant' ? each.value : source(each.from));
    if (value !== undefined) claims[each.claim] = value;
  }
  return claims;
}
