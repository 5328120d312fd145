// Says which addresses may sign up.

/** Whether an address is of one of the domains; an empty list allows all. */
export const isOfDomains = (domains: readonly string[], address: string): boolean =>
  domains.length === 0 || domains.includes(address.slice(address.lastIndexOf('@') + 1));

/** The domains of the addresses that may sign up: that of a sign-up link goes before the settings. */
export const signUpDomainsOf = (
  { signUpDomains }: { signUpDomains: readonly string[] },
  link?: { domain: string | undefined },
): readonly string[] => (link?.domain === undefined ? signUpDomains : [link.domain]);
