// Declares connected servers: authorization servers for which this service signs ID-JAGs about its users (draft-ietf-oauth-identity-assertion-authz-grant).
import { z } from 'zod';
import { nounName } from '../oauth/display-text.ts';
import { rule } from '../oauth/refusals.ts';
import { isWebUri } from '../oauth/redirect-uri.ts';
import { text } from '../oauth/text.ts';
import { entity, type EntityOf, member } from './entity.ts';
import { distinct, entriesOf, tokenScope } from './exchange-policies.ts';

const maxClients = 100;

const client = z.strictObject({
  client: text(255).min(1, rule('empty')).describe('The client here.'),
  id: text(255).min(1, rule('empty')).describe('The client_id by which the server knows it.'),
  scopes: entriesOf(tokenScope).min(1, rule('empty')).describe('The scopes that its ID-JAGs may name.'),
  groups: entriesOf(text(255)).default([]).describe('The groups whose members it may name; without one all users.'),
});
export type ConnectedClient = z.infer<typeof client>;

export const connectedServers = entity({
  table: 'connected_servers',
  one: 'connected_server',
  permission: 'connections',
  section: 'resources',
  called: 'name',
  order: ['name', 'issuer', 'clients', 'resources', 'subject', 'status'],
  find: 'id = $1 OR name = $1',
  versioned: true,
  notifies: true,
  members: {
    name: member('What administrators call it. It cannot be changed.', nounName, {
      required: true,
      fixed: true,
      form: 'text',
      list: true,
    }),
    issuer: member(
      'The issuer of the server, which is the audience of the ID-JAGs.',
      text(2000).refine((uri) => isWebUri(uri), rule('web-address')),
      { required: true, fixed: true, trust: true, form: 'address', list: true },
    ),
    clients: member(
      'The clients that get ID-JAGs for the server, each with its id there, its scopes, and the groups whose members it may name. It can be empty, since the entry of a client goes with the client, and with its last group.',
      z
        .array(client)
        .max(maxClients, rule('entries', { most: String(maxClients) }))
        .refine((all) => distinct(all.map((one) => one.client)), rule('clients-twice')),
      {
        required: true,
        json: true,
        holds: { depth: 3, members: maxClients * Object.keys(client.shape).length },
        trust: true,
        option: 'client',
        form: { kind: 'json', lines: 8 },
      },
    ),
    resources: member(
      'The resources of the server that an ID-JAG may name; without one an ID-JAG names none.',
      entriesOf(text(512).refine((uri) => URL.canParse(uri), rule('resource-uri'))),
      { start: [], trust: true, option: 'resource', form: { kind: 'lines', lines: 3, writing: 'ltr' } },
    ),
    subject: member(
      'The subject of the users: the same for every server (public), or one of its own for the host of this server (pairwise).',
      z.enum(['public', 'pairwise']),
      { start: 'public', trust: true, form: { kind: 'radio', choices: ['public', 'pairwise'] }, list: 'tag' },
    ),
    status: member('Whether ID-JAGs for it are signed.', z.enum(['enabled', 'disabled']), {
      start: 'enabled',
      form: { kind: 'radio', choices: ['enabled', 'disabled'] },
      list: 'tag',
    }),
  },
});

export type ConnectedServer = EntityOf<typeof connectedServers>;
