// Declares settings that several kinds and presets of connections share: lists, and addresses that are public or belong to a test system.
import { z } from 'zod';
import { member } from '../../entities/entity.ts';
import type { Field } from '../../entities/field.ts';
import { rule } from '../../oauth/refusals.ts';
import { text } from '../../oauth/text.ts';
import { isOutwardAddress } from '../../outbound/outward-address.ts';

/** The field of a list in the console. */
export const listField: Field = { kind: 'lines', writing: 'ltr' };

/** The command line reads a client id of digits as a number. */
export const clientId = member(
  'The client id of this service at the provider.',
  z.preprocess((given) => (typeof given === 'number' ? String(given) : given), text(500).min(1, rule('empty'))),
  { required: true, trust: true, form: 'text' },
);
export const scopeSetting = (scope: string) => member('The scopes to ask for.', text(500), { start: scope });

/** A list. A command and a form send a text whose entries are separated by spaces or commas. */
export const listOf = (entry: z.ZodType<string, string>, most: number) =>
  z.preprocess(
    (given) => (typeof given === 'string' ? given.split(/[\s,]+/).filter((one) => one !== '') : given),
    z.array(entry).max(most),
  );

/** An address to which the guarded fetcher may send requests. @param allowed OUTBOUND_ALLOW */
export const outward = (allowed: readonly string[]) =>
  text(2000).refine((address) => isOutwardAddress(address, allowed), { error: 'https.start' });

/**
 * The origin of a provider that has several: a known one, or one of a test system, which OUTBOUND_ALLOW must name. The service trusts a preset
 * more than other providers, so a preset must never lead to another provider.
 */
export const originOf = (known: readonly [string, ...string[]], allowed: readonly string[]) =>
  member(
    'The origin of the provider.',
    text(500).refine(
      (origin) => known.includes(origin) || (isOrigin(origin) && allowed.includes(new URL(origin).host)),
      { error: 'invalid' },
    ),
    { start: known[0], trust: true },
  );

export const isOrigin = (address: string): boolean => URL.canParse(address) && new URL(address).origin === address;

/** The scopes of a request, each once. @param always scopes that every request has */
export const scopesOf = (scope: string, always: readonly string[] = []): string =>
  [...new Set([...always, ...scope.split(/\s+/).filter((value) => value !== '')])].join(' ');

/** How this service authenticates at the provider. */
export const authMethod = member(
  'How this service authenticates at the provider.',
  z.enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt']),
  { start: 'client_secret_basic', group: 'protocol', form: 'radio' },
);
export const responseMode = member(
  'How the answer arrives: in the address, or posted by a page of the provider.',
  z.enum(['query', 'form_post']),
  { start: 'query', group: 'protocol', form: 'radio' },
);
