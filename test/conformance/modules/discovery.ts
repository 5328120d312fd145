// Verifies the discovery documents of the plans (OpenID Connect Discovery 4, and the logout specifications' own members).
import { expect } from 'vitest';
import { type HttpAnswer, mediaType } from '../bed/network.ts';
import { checkDiscovery } from '../checks/discovery.ts';
import type { RelyingParty } from '../relying-party.ts';
import type { Module, Modules } from './definition.ts';

const path = '/.well-known/openid-configuration';

function fetchDocument(rp: RelyingParty): Promise<HttpAnswer> {
  return rp.bed.network.send(rp.discovery.issuer + path);
}

/** The members that a logout plan requires: addresses are https, flags are true. */
function announces(clause: string, addresses: string[], flags: string[] = []): Module {
  return {
    clause,
    async run(rp) {
      for (const name of addresses) expect(rp.discovery[name], name).toEqual(expect.stringMatching(/^https:\/\//));
      for (const name of flags) expect(rp.discovery[name], name).toBe(true);
      for (const name of Object.keys(rp.discovery).filter((member) => member.endsWith('_endpoint')))
        expect(rp.discovery[name], name).toEqual(expect.stringMatching(/^https:\/\//));
    },
  };
}

export const discoveryModules: Modules = {
  'oidcc-discovery-endpoint-verification': {
    clause: 'OpenID Connect Discovery 3, 4',
    async run(rp) {
      const answer = await fetchDocument(rp);
      expect(answer.status).toBe(200);
      expect(mediaType(answer)).toBe('application/json');
      const dynamic = rp.variant.registration === 'dynamic_client';
      checkDiscovery(rp.discovery, answer.url, { dynamic });
    },
  },
  'oidcc-rp-initiated-logout-discovery-endpoint-verification': announces('RP-Initiated Logout 2.1', [
    'end_session_endpoint',
  ]),
  'oidcc-session-management-discovery-endpoint-verification': announces('Session Management 3.3', [
    'end_session_endpoint',
    'check_session_iframe',
  ]),
  'oidcc-frontchannel-logout-discovery-endpoint-verification': announces(
    'Front-Channel Logout 3',
    ['end_session_endpoint'],
    ['frontchannel_logout_supported', 'frontchannel_logout_session_supported'],
  ),
  'oidcc-backchannel-logout-discovery-endpoint-verification': announces(
    'Back-Channel Logout 2.1',
    ['end_session_endpoint'],
    ['backchannel_logout_supported', 'backchannel_logout_session_supported'],
  ),
};
