// Checks and compares the name by which a client of tls_client_auth is known in its certificate (RFC 8705 2.1.2).
import { isIP } from 'node:net';
import { hasSubject, parseDistinguishedName } from './distinguished-name.ts';
import { type Refusal, refusal } from './refusals.ts';

/** The members of client metadata of which exactly one names the client. */
export const certificateNameMembers = [
  'tls_client_auth_subject_dn',
  'tls_client_auth_san_dns',
  'tls_client_auth_san_uri',
  'tls_client_auth_san_ip',
  'tls_client_auth_san_email',
] as const;
export type CertificateNameMember = (typeof certificateNameMembers)[number];
export type CertificateNames = { readonly [Member in CertificateNameMember]?: string | undefined };

/** The certificate, as far as it names its holder. */
export interface NamedCertificate {
  readonly subject: string | undefined;
  alternativeNames(): readonly { type: 'dns' | 'uri' | 'ip' | 'email' | 'other'; value: string }[];
}

/** The type of alternative name, and the form in which its values are compared. */
const alternatives: Partial<Record<CertificateNameMember, { type: string; form: (value: string) => string }>> = {
  tls_client_auth_san_dns: { type: 'dns', form: (name) => name.toLowerCase() },
  tls_client_auth_san_uri: { type: 'uri', form: (uri) => uri },
  tls_client_auth_san_ip: { type: 'ip', form: canonicalAddress },
  // the domain has no case, and the local part may have one (RFC 5321 2.4)
  tls_client_auth_san_email: { type: 'email', form: (email) => email.replace(/@[^@]*$/, (end) => end.toLowerCase()) },
};

/** The members that are set. */
const namedBy = (metadata: CertificateNames): CertificateNameMember[] =>
  certificateNameMembers.filter((member) => metadata[member] !== undefined);

/** What is wrong with the names of a client that authenticates by them: there must be exactly one. */
export function certificateNameRefusal(metadata: CertificateNames): Refusal | undefined {
  const [first, ...others] = namedBy(metadata);
  if (first === undefined) return refusal('certificate-name.missing', 'tls_client_auth_subject_dn');
  return others.length > 0 ? refusal('certificate-name.several', others[0]!) : undefined;
}

/** Whether the certificate has the registered name. */
export function isNamed(certificate: NamedCertificate, metadata: CertificateNames): boolean {
  const [member, ...others] = namedBy(metadata);
  if (member === undefined || others.length > 0) return false;
  const registered = metadata[member]!;
  const alternative = alternatives[member];
  if (!alternative) return hasSubject(certificate.subject, registered);
  const { type, form } = alternative;
  return certificate.alternativeNames().some((name) => name.type === type && form(name.value) === form(registered));
}

export const isDistinguishedName = (text: string): boolean => parseDistinguishedName(text) !== undefined;
export const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%');

/** An address in the one form that RFC 5952 gives it. */
function canonicalAddress(address: string): string {
  return isIP(address) === 6 && !address.includes('%') ? new URL(`http://[${address}]`).hostname : address;
}
