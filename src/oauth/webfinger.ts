// Answers which OpenID Provider a user of a domain signs in at (RFC 7033, OpenID Connect Discovery 2). The answer is the same for every name of a domain.
import { domainToASCII } from 'node:url';

const issuerRelation = 'http://openid.net/specs/connect/1.0/issuer';

export interface ResourceDescriptor {
  subject: string;
  links: { rel: string; href: string }[];
}

/** The domain of a resource such as acct:ada@example.com or https://example.com/ada; undefined for one of another form. */
export function domainOf(resource: string): string | undefined {
  const host =
    /^acct:[^@]+@([^@/?#]+)$/i.exec(resource)?.[1] ?? (/^https:/i.test(resource) ? hostOf(resource) : undefined);
  return host === undefined ? undefined : domainToASCII(host) || undefined;
}

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

/**
 * @param relations of the links that the request asks for; none asks for all
 * @returns undefined for a resource of another domain
 */
export function resourceDescriptor(
  { issuer, domains }: { issuer: string; domains: readonly string[] },
  resource: string,
  relations: readonly string[],
): ResourceDescriptor | undefined {
  const domain = domainOf(resource);
  if (domain === undefined || !domains.includes(domain)) return undefined;
  const isAsked = relations.length === 0 || relations.includes(issuerRelation);
  return { subject: resource, links: isAsked ? [{ rel: issuerRelation, href: issuer }] : [] };
}
