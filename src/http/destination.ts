// Where a person goes on after signing in without an authorization request: pages of ours by name, never an address that somebody sent.

export interface Destination {
  /** Which page: a key of the catalogue under `login.lead.`. */
  name: 'registration' | 'data';
  /** The whole of it, for the parameter `destination` of the sign-in page. */
  value: string;
  /** Path and query of the page. */
  path: string;
}

/** The page that a value of the parameter names, with what it needs to show; undefined for anything else. */
export function readDestination(value: string | undefined): Destination | undefined {
  if (value === 'data') return ownData;
  const match = /^registration(?:\.([A-Z]{4}-[A-Z]{4}))?$/.exec(value ?? '');
  return match ? registrationPage(match[1]) : undefined;
}

/** Where the download of one's data is: it wants a recent sign-in. */
export const ownData: Destination = { name: 'data', value: 'data', path: '/account#data' };

/** The page on which an administrator decides about a registration. @param code its verification code, if known */
export function registrationPage(code: string | undefined): Destination {
  const path = '/admin/registration';
  return code === undefined
    ? { name: 'registration', value: 'registration', path }
    : { name: 'registration', value: `registration.${code}`, path: `${path}?verification_code=${code}` };
}
