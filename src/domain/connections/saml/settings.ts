// Declares the settings of a connection by SAML 2.0, and reads them from published metadata (federation 9).
import { z } from 'zod';
import { member, type ValuesOf } from '../../../entities/entity.ts';
import type { Typing } from '../../../entities/field.ts';
import { rule } from '../../../oauth/refusals.ts';
import { text } from '../../../oauth/text.ts';
import { readCertificate } from '../../../saml/certificates.ts';
import { nameIdFormats } from '../../../saml/names.ts';
import { listField, outward } from '../settings.ts';

/** The formats of names that a request can ask for; `any` leaves the choice to the identity provider. */
export const formats = ['any', 'persistent', 'email', 'transient', 'unspecified'] as const;
export const formatOf = (name: (typeof formats)[number]): string | undefined =>
  name === 'any' ? undefined : nameIdFormats[name];

const maxMetadata = 262_144; // characters

/** One field has all certificates, each with its two lines. */
const certificatesIn = (typed: string): string[] =>
  typed.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? (typed.trim() ? [typed] : []);
const trimmed: Typing = { write: String, read: (typed) => typed.trim() };
const certificateLines: Typing = {
  write: (all: readonly string[]) => all.join(''),
  read: certificatesIn,
};

/** A certificate in its usual form. Its key is strong enough to be pinned. */
const certificate = z
  .string()
  .max(20_000)
  .transform((given, context) => {
    const read = readCertificate(given);
    if (!read) context.addIssue({ code: 'custom', message: 'certificate', input: given });
    return read?.pem ?? given;
  });

const attribute = (says: string) => member(says, text(500), { group: 'accounts', form: 'text' });

/** An address to which a browser is sent. The service itself sends no request there, so it may be one of a company's own network. */
const browserAddress = (allowed: readonly string[]) =>
  text(2000).refine((address) => isBrowserAddress(address, allowed), { error: 'https.start' });

function isBrowserAddress(address: string, allowed: readonly string[]): boolean {
  const url = URL.parse(address);
  if (!url || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && allowed.includes(url.host));
}

/** @param allowed OUTBOUND_ALLOW */
export const samlSettingsFor = (allowed: readonly string[]) => ({
  metadata_uri: member(
    'The address of the metadata of the identity provider: it fills in the next settings, and is read again each day.',
    outward(allowed),
    { trust: true, form: 'text' },
  ),
  metadata: member(
    'The metadata of the identity provider, as XML, instead of its address: it fills in the next settings, and is not stored.',
    text(maxMetadata),
    { form: { ...listField, lines: 4, typing: trimmed } },
  ),
  entity_id: member('The entity id of the identity provider.', text(1024).min(1, rule('empty')), {
    trust: true,
    form: 'text',
  }),
  sso_uri: member('The address for sign-in at the identity provider, by HTTP-Redirect.', browserAddress(allowed), {
    trust: true,
    form: 'text',
  }),
  certificates: member(
    'The certificates (PEM) of the keys by which the identity provider signs. Only these keys count.',
    z.preprocess((given) => (typeof given === 'string' ? certificatesIn(given) : given), z.array(certificate).max(10)),
    { start: [], trust: true, form: { ...listField, lines: 4, typing: certificateLines } },
  ),
  slo_uri: member('The address for logout at the identity provider, by HTTP-Redirect.', browserAddress(allowed), {
    trust: true,
    group: 'session',
    form: 'text',
  }),
  name_id_format: member('The format of names to ask for. An answer with another one is refused.', z.enum(formats), {
    start: 'any',
    trust: true,
    group: 'protocol',
    form: 'select',
  }),
  subject_attribute: member(
    'The attribute that identifies a user permanently, if the name (NameID) does not.',
    text(500),
    { trust: true, group: 'accounts', form: 'text' },
  ),
  email_attribute: attribute('The attribute with the address; without it, the usual names of attributes.'),
  groups_attribute: member('The attribute with the groups.', text(500), {
    start: 'groups',
    group: 'groups',
    form: 'text',
  }),
  idp_initiated: member(
    'Whether sign-ins that begin at the identity provider are accepted: such an answer belongs to no request of the browser.',
    z.boolean(),
    { start: false, trust: true, group: 'protocol', form: 'check' },
  ),
  sign_requests: member('Whether requests are signed.', z.boolean(), {
    start: true,
    group: 'protocol',
    form: 'check',
  }),
  own_certificate: member(
    'The certificate (PEM) of a key of your own, instead of a generated one. The private key is the secret.',
    certificate,
    {
      trust: true,
      group: 'protocol',
      form: { ...listField, lines: 4, typing: trimmed },
    },
  ),
});

export type SamlSettings = ValuesOf<ReturnType<typeof samlSettingsFor>>;

/** What an identity provider publishes, and a connection pins. */
export interface PinnedProvider {
  entity_id: string;
  sso_uri: string;
  slo_uri?: string | undefined;
  certificates: string[];
}

/** In one form, so that two can be compared. */
export const pinnedIn = ({ entity_id, sso_uri, slo_uri, certificates }: Readonly<Record<string, unknown>>) => ({
  entity_id,
  sso_uri,
  ...(slo_uri !== undefined && { slo_uri }),
  certificates: Array.isArray(certificates) ? [...(certificates as string[])].sort() : [],
});
