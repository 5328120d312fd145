// Declares the members of a SAML application: a client of the kind saml, to which this service is the identity provider (federation 9).
import { z } from 'zod';
import { isWebUri } from '../oauth/redirect-uri.ts';
import { rule } from '../oauth/refusals.ts';
import { nameIdPattern } from '../rules/saml/name-id.ts';
import { readCertificate } from '../saml/certificates.ts';
import { member } from './entity.ts';
import type { Typing } from './field.ts';

/** More keys than this no application changes at once. */
const maxCertificates = 5;
const maxAddresses = 20;

const webUri = z
  .string(rule('string'))
  .max(2000, rule('too-long', { most: '2000' }))
  .refine(isWebUri, rule('web-address'));
const certificate = z
  .string(rule('string'))
  .refine((text) => readCertificate(text) !== undefined, rule('certificate'))
  .transform((text) => readCertificate(text)!.pem);
const isRsa = (pem: string) => readCertificate(pem)!.publicKey.asymmetricKeyType === 'rsa';

/** One certificate after the other. */
const blocks: Typing = {
  write: (texts: readonly string[]) => texts.join(''),
  read: (text) =>
    text
      .split(/(?<=-----END CERTIFICATE-----)/)
      .map((block) => block.trim())
      .filter(Boolean),
};

const whole: Typing = { write: String, read: (text) => text.trim() };

const group = 'saml';

export const samlSettings = {
  entity_id: member(
    'The entity ID of a SAML application, which its requests have as Issuer.',
    z.string(rule('string')).regex(/^[!-~]{1,1024}$/, rule('saml-entity')),
    { form: { kind: 'text', most: 1024, writing: 'ltr' }, group, answer: z.string().optional() },
  ),
  acs_uris: member(
    'The addresses (assertion consumer services) to which responses may go; the first is the default.',
    z
      .array(webUri)
      .min(1, rule('missing.entry'))
      .max(maxAddresses, rule('entries', { most: String(maxAddresses) })),
    { option: 'acs-uri', form: { kind: 'lines', writing: 'ltr' }, group, answer: z.array(z.string()).optional() },
  ),
  slo_uri: member('The address that gets the answers to its logout requests.', webUri, {
    form: { kind: 'address', most: 2000 },
    group,
    answer: z.string().optional(),
  }),
  certificates: member(
    'The certificates, in PEM, whose keys sign the requests of the application.',
    z.array(certificate).max(maxCertificates, rule('entries', { most: String(maxCertificates) })),
    {
      option: 'certificate',
      noSecret: 'Certificates are public.',
      form: { kind: 'lines', writing: 'ltr', lines: 6, typing: blocks },
      group,
      answer: z.array(z.string()).optional(),
    },
  ),
  name_id: member(
    'What the application gets as NameID: persistent (a pairwise identifier; the default), email (only a confirmed address), username, or attribute: with the name of a claim or an attribute.',
    z.string(rule('string')).regex(nameIdPattern, rule('saml-name-id')),
    { form: { kind: 'text', most: 60, writing: 'ltr' }, group, answer: z.string().optional() },
  ),
  sign_response: member('Whether the whole response is signed beside the assertion.', z.boolean(), {
    form: 'check',
    group,
    answer: z.boolean().optional(),
  }),
  encryption_certificate: member(
    'The certificate, in PEM, to whose key assertions are encrypted.',
    certificate.refine(isRsa, rule('certificate.encryption')),
    {
      noSecret: 'Certificates are public.',
      form: { kind: 'lines', writing: 'ltr', lines: 6, typing: whole },
      group,
      answer: z.string().optional(),
    },
  ),
  require_signed_requests: member('Whether the application must sign its sign-in requests.', z.boolean(), {
    form: 'check',
    group,
    answer: z.boolean().optional(),
  }),
  idp_initiated: member('Whether sign-ins may begin here, without a request of the application.', z.boolean(), {
    form: 'check',
    group,
    answer: z.boolean().optional(),
  }),
};
