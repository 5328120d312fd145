// Declares settings that several kinds and presets of connections have: lists, and addresses that are public or of a test bed.
import { z } from 'zod';
import { rule } from '../../oauth/refusals.ts';
import { text } from '../../oauth/text.ts';
import { isOutwardAddress } from '../../outbound/outward-address.ts';

/** A command reads digits as a number. */
export const clientId = z.preprocess(
  (given) => (typeof given === 'number' ? String(given) : given),
  text(500).min(1, rule('empty')),
);
export const scopeSetting = (scope: string) => text(500).default(scope).describe('The scopes to ask for.');

/** A list; a text has its entries separated by spaces or commas, as a command and a form have it. */
export const listOf = (entry: z.ZodType<string, string>, most: number) =>
  z.preprocess(
    (given) => (typeof given === 'string' ? given.split(/[\s,]+/).filter((one) => one !== '') : given),
    z.array(entry).max(most),
  );

/** An address that the guarded fetcher may ask. @param allowed OUTBOUND_ALLOW */
export const outward = (allowed: readonly string[]) =>
  text(2000).refine((address) => isOutwardAddress(address, allowed), { error: 'https.start' });

/**
 * The origin of a provider with several: one of those that are known, or a service of a test bed, which only OUTBOUND_ALLOW names. So a
 * preset, which is believed more than another provider, is never another one.
 */
export const originOf = (known: readonly [string, ...string[]], allowed: readonly string[]) =>
  text(500)
    .refine((origin) => known.includes(origin) || (isOrigin(origin) && allowed.includes(new URL(origin).host)), {
      error: 'invalid',
    })
    .default(known[0]);

export const isOrigin = (address: string): boolean => URL.canParse(address) && new URL(address).origin === address;

/** The scopes of a request, each once; some of them are always among them. */
export const scopesOf = (scope: string, always: readonly string[] = []): string =>
  [...new Set([...always, ...scope.split(/\s+/).filter((value) => value !== '')])].join(' ');
