// What a new version of a document changes, and how long a version is fresh: tables of cases.
import { describe, expect, test } from 'vitest';
import { documentChange, freshness, isTrusted } from '../../src/domain/client-documents/document-change.ts';
import { parseClientMetadata } from '../../src/oauth/client-metadata.ts';

const metadata = parseClientMetadata({ redirect_uris: ['https://a.example/cb'], token_endpoint_auth_method: 'none' });
const wider = { ...metadata, redirect_uris: [...metadata.redirect_uris, 'https://b.example/cb'] };
const approved = {
  metadata,
  pendingMetadata: undefined,
  everEnabled: true,
  selfManaged: false,
  approvedBy: 'administrator' as const,
  documentGone: false,
  firstParty: false,
  cibaTrusted: false,
  introspect: 'own' as const,
  scimSource: undefined,
  upstreamTokens: [],
  claimRules: [],
};

describe('a change', () => {
  const atOnce = { metadata: wider, pendingMetadata: null };
  const waits = { pendingMetadata: wider };
  test.each([
    ['of an approved client waits', approved, wider, false, waits],
    ['of an approved client waits, also from a trusted host', approved, wider, true, waits],
    [
      'of a client that needed no approval takes effect at once',
      { ...approved, approvedBy: 'automatic' as const },
      wider,
      true,
      atOnce,
    ],
    [
      'of such a client waits once an administrator has given it rights',
      { ...approved, approvedBy: 'automatic' as const, firstParty: true },
      wider,
      true,
      waits,
    ],
    [
      'of such a client waits once its host is no longer trusted',
      { ...approved, approvedBy: 'automatic' as const },
      wider,
      false,
      waits,
    ],
    ['of a self-managed client takes effect at once', { ...approved, selfManaged: true }, wider, false, atOnce],
    [
      'of a client that was never enabled takes effect at once',
      { ...approved, everEnabled: false, approvedBy: undefined },
      wider,
      false,
      atOnce,
    ],
    [
      'of a client whose document was gone waits, from a trusted host, too',
      { ...approved, approvedBy: 'automatic' as const, documentGone: true },
      wider,
      true,
      waits,
    ],
    ['to nothing else changes nothing', approved, metadata, false, {}],
    [
      'back to the approved version ends what waits',
      { ...approved, pendingMetadata: wider },
      metadata,
      false,
      { metadata, pendingMetadata: null },
    ],
  ])('%s (security R45, R141)', (_what, current, next, trusted, expected) => {
    expect(documentChange(current, next, trusted)).toEqual(expected);
  });
});

test.each([
  [undefined, 300],
  ['', 300],
  ['max-age=0', 300],
  ['max-age=299', 300],
  ['public, max-age=600', 600],
  ['MAX-AGE="900"', 900],
  ['max-age=86401', 86_400],
  ['max-age=99999999999', 300],
  ['no-store, max-age=3600', 300],
  ['max-age=3600, no-cache', 300],
  ['max-age=-1', 300],
])('Cache-Control %j keeps a document for %i seconds (protocols 5.5)', (value, seconds) => {
  expect(freshness(value)).toBe(seconds);
});

test('a host is trusted with its port, and only if the setting says so (protocols 5.5)', () => {
  const hosts = ['a.example', 'b.example:8443'];
  const trusts = (clientDocuments: 'approval' | 'hosts' | 'automatic', address: string) =>
    isTrusted({ clientDocuments, clientDocumentHosts: hosts }, address);
  expect(trusts('hosts', 'https://a.example/x')).toBe(true);
  expect(trusts('hosts', 'https://b.example:8443/x')).toBe(true);
  for (const address of [
    'https://b.example/x',
    'https://a.example:8443/x',
    'https://x.a.example/x',
    'https://evil.example/a.example',
  ])
    expect(trusts('hosts', address)).toBe(false);
  expect(trusts('approval', 'https://a.example/x')).toBe(false);
  expect(trusts('automatic', 'https://evil.example/x')).toBe(true);
});
