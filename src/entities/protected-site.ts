// Declares the settings of a protected site: an application behind a proxy that asks this service about each request (federation 13).
import { z } from 'zod';
import { rule } from '../oauth/refusals.ts';
import { identityHeaders } from '../rules/sites/identity-headers.ts';
import { isOpenPathForm, isSiteHost } from '../rules/sites/original-request.ts';
import { member } from './entity.ts';

const lines = { kind: 'lines', writing: 'ltr' } as const;
/** A client of another kind has none, and its answers do not name the member. */
const unlessEmpty = {
  read: (list: string[]): string[] => list,
  show: (list: string[]): string[] | undefined => (list.length > 0 ? list : undefined),
};

export const siteSettings = {
  hosts: member(
    'The hosts of a protected site, without a port: its proxy asks the service about each request to them.',
    z
      .array(z.string(rule('strings')).trim().toLowerCase().refine(isSiteHost, rule('site-host')))
      .max(20, rule('entries', { most: '20' })),
    {
      start: [],
      option: 'host',
      form: lines,
      group: 'site',
      convert: unlessEmpty,
      answer: z.array(z.string()).optional(),
    },
  ),
  headers: member(
    'The headers by which a protected site learns who its user is.',
    z.array(z.enum(identityHeaders, rule('only', { values: identityHeaders.join(', ') }))),
    {
      start: [],
      option: 'header',
      form: { kind: 'boxes', choices: identityHeaders },
      group: 'site',
      convert: unlessEmpty,
      answer: z.array(z.enum(identityHeaders)).optional(),
    },
  ),
  open_paths: member(
    'The beginnings of paths of a protected site that everyone may open, such as /public/.',
    z
      .array(z.string(rule('strings')).trim().refine(isOpenPathForm, rule('open-path')))
      .max(50, rule('entries', { most: '50' })),
    {
      start: [],
      option: 'open-path',
      form: lines,
      group: 'site',
      convert: unlessEmpty,
      answer: z.array(z.string()).optional(),
    },
  ),
  session_lifetime: member(
    'The seconds after which the sign-in to a protected site is repeated, or the session at a SAML application ends; by default, a site asks again when the session of the browser ends, and an application decides.',
    z
      .int()
      .min(60)
      .max(366 * 86_400),
    { form: 'number', group: 'site', answer: z.int().optional() },
  ),
};
