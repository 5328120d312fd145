// Where a person goes on after signing in without an authorization request: pages of ours by name, never an address that somebody sent.
import type { FastifyRequest } from 'fastify';
import { singleValued } from '../server/parameters.ts';

export interface Destination {
  /** Which page: a key of the catalogue under `login.lead.`. */
  name: 'registration' | 'data' | 'email' | 'deletion' | 'password' | 'passkeys' | 'second-factors' | 'authenticator';
  /** The whole of it, for the parameter `destination` of the sign-in page. */
  value: string;
  /** Path and query of the page. */
  path: string;
}

/** The page that a value of the parameter names, with what it needs to show; undefined for anything else. */
export function readDestination(value: string | undefined): Destination | undefined {
  const own = [ownData, ownAddress, ownDeletion, ownPassword, ownPasskeys, secondFactors, newAuthenticator].find(
    (page) => page.value === value,
  );
  if (own) return own;
  const match = /^registration(?:\.([A-Z]{4}-[A-Z]{4}))?$/.exec(value ?? '');
  return match ? registrationPage(match[1]) : undefined;
}

/** Where the download of one's data is: it wants a recent sign-in. */
export const ownData: Destination = { name: 'data', value: 'data', path: '/account/data' };

/** Where passkeys are added and removed: both want a recent sign-in. */
export const ownPasskeys: Destination = { name: 'passkeys', value: 'passkeys', path: '/account/passkeys' };

/** Where one deletes the own account: it wants a recent sign-in. */
export const ownDeletion: Destination = { name: 'deletion', value: 'deletion', path: '/account/delete' };

/** Where the password is changed: with the present one, and the second factor if there is one. */
export const ownPassword: Destination = { name: 'password', value: 'password', path: '/account/password' };

/** Where one's second factors are changed: that wants a recent sign-in. */
export const secondFactors: Destination = {
  name: 'second-factors',
  value: 'second-factors',
  path: '/account/second-factors',
};
export const newAuthenticator: Destination = {
  name: 'authenticator',
  value: 'authenticator',
  path: '/account/authenticator',
};

/** Where the address of the account is changed, likewise. */
export const ownAddress: Destination = { name: 'email', value: 'email', path: '/account/email' };

/** The page on which an administrator decides about a registration. @param code its verification code, if known */
export function registrationPage(code: string | undefined): Destination {
  const path = '/admin/registration';
  return code === undefined
    ? { name: 'registration', value: 'registration', path }
    : { name: 'registration', value: `registration.${code}`, path: `${path}?verification_code=${code}` };
}

/** The page of ours that a page of the sign-in, or its form, names. */
export function destinationOf(request: FastifyRequest): Destination | undefined {
  return readDestination(singleValued(request.method === 'POST' ? request.body : request.query)['destination']);
}
