// Declares the operations on the keys that sign for SAML applications: a change of the key has three steps (federation 9).
import { z } from 'zod';
import type { SamlKey } from '../../domain/keys/saml-keys.ts';
import { text } from '../../oauth/text.ts';
import { operation } from './operation.ts';
import { table } from './text-table.ts';

const section = { permission: 'keys', tag: 'keys' } as const;
const path = '/admin/api/saml-keys';
const one = z.object({ id: text(64).describe('The SHA-256 digest of the certificate, in base64url.') });

const keyView = ({ id, state, certificate, createdAt, validUntil }: SamlKey) => ({
  id,
  state,
  certificate,
  created_at: createdAt.toISOString(),
  valid_until: validUntil.toISOString(),
});
const keys = {
  answer: 'SamlKeys',
  view: (all: SamlKey[]) => ({ keys: all.map(keyView) }),
} as const;
const output = {
  text: (all: SamlKey[]) =>
    table(
      ['ID', 'STATE', 'CREATED', 'CERTIFICATE VALID UNTIL'],
      all.map(({ id, state, createdAt, validUntil }) => [id, state, createdAt.toISOString(), validUntil.toISOString()]),
    ),
  json: (all: SamlKey[]) => all.map(keyView),
};

export const listSamlKeys = operation({
  ...keys,
  method: 'GET',
  path,
  ...section,
  summary:
    'Lists the keys that sign for SAML applications, with their certificates; the service makes the first key when it is needed',
  handler: ({ samlKeys }) => samlKeys.list(),
  command: { name: 'saml-keys list', ...output },
});

export const createSamlKey = operation({
  ...keys,
  method: 'POST',
  path,
  ...section,
  summary: 'Publishes another key for SAML applications in the metadata; it does not sign yet',
  status: 201,
  handler: ({ samlKeys }, { actor }) => samlKeys.create(actor),
  command: { name: 'saml-keys create', ...output },
});

export const activateSamlKey = operation({
  ...keys,
  method: 'POST',
  path: `${path}/:id/activate`,
  ...section,
  summary:
    'Lets the published key sign for SAML applications; the former key stays published. Applications that do not know the new certificate refuse its signatures',
  params: one,
  handler: ({ samlKeys }, { params: { id }, actor }) => samlKeys.activate(id, actor),
  command: { name: 'saml-keys activate', ...output },
});

export const deleteSamlKey = operation({
  method: 'DELETE',
  path: `${path}/:id`,
  ...section,
  summary: 'Withdraws a key that does not sign for SAML applications',
  params: one,
  handler: ({ samlKeys }, { params: { id }, actor }) => samlKeys.delete(id, actor),
  command: { name: 'saml-keys delete', ...output },
});

export const samlKeyOperations = [listSamlKeys, createSamlKey, activateSamlKey, deleteSamlKey];
