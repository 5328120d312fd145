// Names the pages to which a sign-in without an authorization request can return; an address from a request is never followed.
import type { FastifyRequest } from 'fastify';
import { singleValued } from '../server/parameters.ts';

export interface ReturnTo {
  /** Which page: a key of the catalogue under `login.lead.`. */
  name:
    | 'registration'
    | 'device'
    | 'data'
    | 'email'
    | 'deletion'
    | 'password'
    | 'passkeys'
    | 'second-factors'
    | 'authenticator'
    | 'connect'
    | 'connections'
    | 'requests';
  /** The value of the sign-in page's parameter `destination`. */
  value: string;
  /** Path and query of the page. */
  path: string;
}

export const ownData: ReturnTo = { name: 'data', value: 'data', path: '/account/data' };
export const ownPasskeys: ReturnTo = { name: 'passkeys', value: 'passkeys', path: '/account/passkeys' };
export const ownDeletion: ReturnTo = { name: 'deletion', value: 'deletion', path: '/account/delete' };
export const ownPassword: ReturnTo = { name: 'password', value: 'password', path: '/account/password' };
export const ownAddress: ReturnTo = { name: 'email', value: 'email', path: '/account/email' };
export const secondFactors: ReturnTo = {
  name: 'second-factors',
  value: 'second-factors',
  path: '/account/second-factors',
};
export const newAuthenticator: ReturnTo = {
  name: 'authenticator',
  value: 'authenticator',
  path: '/account/authenticator',
};

/** Where a user proves an account, to link an identity of a connection to it. */
export const connectAccount: ReturnTo = { name: 'connect', value: 'connect', path: '/login/connect' };
export const ownConnections: ReturnTo = { name: 'connections', value: 'connections', path: '/account/connections' };

/** Where a user answers the backchannel requests of clients. */
export const ownRequests: ReturnTo = { name: 'requests', value: 'requests', path: '/account/requests' };

const ownPages = [
  ownData,
  ownAddress,
  ownDeletion,
  ownPassword,
  ownPasskeys,
  secondFactors,
  newAuthenticator,
  connectAccount,
  ownConnections,
  ownRequests,
];

/** Whether the page is one of the account, which its user opened. */
export const isOwnPage = (page: ReturnTo | undefined): boolean => page?.path.startsWith('/account/') ?? false;

/** The page on which an administrator decides about a registration. @param code its verification code, if known */
export function registrationPage(code: string | undefined): ReturnTo {
  const path = '/admin/registration';
  return code === undefined
    ? { name: 'registration', value: 'registration', path }
    : { name: 'registration', value: `registration.${code}`, path: `${path}?verification_code=${code}` };
}

/** The page on which a user decides about a device. @param code its user code, if known */
export function devicePage(code: string | undefined): ReturnTo {
  return code === undefined
    ? { name: 'device', value: 'device', path: '/device' }
    : { name: 'device', value: `device.${code}`, path: `/device?user_code=${code}` };
}

/** The page that a value of the parameter names; undefined for any other value. */
export function readReturnTo(value: string | undefined): ReturnTo | undefined {
  const own = ownPages.find((page) => page.value === value);
  if (own) return own;
  const [, name, code] = /^(registration|device)(?:\.([A-Z]{4}-[A-Z]{4}))?$/.exec(value ?? '') ?? [];
  if (name === undefined) return undefined;
  return name === 'device' ? devicePage(code) : registrationPage(code);
}

/** The page that a page of the sign-in, or its form, names. */
export function returnToOf(request: FastifyRequest): ReturnTo | undefined {
  return readReturnTo(singleValued(request.method === 'POST' ? request.body : request.query)['destination']);
}
