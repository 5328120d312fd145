// Makes the attributes of an assertion from the claims that the rules of an application make `into: saml` (federation 7 and 9).
import { type ClaimRule, ruledClaims } from '../claims/claim-rules.ts';
import { namedClaims, type Subject } from '../claims/claims.ts';

export interface SamlAttribute {
  name: string;
  values: string[];
}

/**
 * Maps only what a rule names: an application learns nothing else of the user. SAML has no word for an unconfirmed address, so such an address is left
 * out (federation FR2).
 */
export function samlAttributes(rules: readonly ClaimRule[], user: Subject): SamlAttribute[] {
  const source = (from: string) =>
    from === 'email' && !user.emailVerified ? undefined : namedClaims(user, [from])[from];
  const made = ruledClaims(rules, source, 'saml');
  return Object.entries(made).flatMap(([name, value]) => {
    const values = (Array.isArray(value) ? (value as unknown[]) : [value]).flatMap(textOf);
    return values.length > 0 ? [{ name, values }] : [];
  });
}

const textOf = (value: unknown): string[] =>
  typeof value === 'object' ? (value === null ? [] : [JSON.stringify(value)]) : value === '' ? [] : [String(value)];
