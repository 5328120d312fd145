// Requests UserInfo in every allowed way (OpenID Connect Core 5.3, RFC 6750 2).
import { expect } from 'vitest';
import { form, type HttpAnswer } from '../bed/network.ts';
import { texts } from '../checks/discovery.ts';
import type { RelyingParty } from '../relying-party.ts';
import { checkUserinfo, signIn } from '../responses.ts';
import type { Module, Modules } from './definition.ts';

function asked(clause: string, ask: (rp: RelyingParty, token: string) => Promise<HttpAnswer>): Module {
  return {
    clause,
    async run(rp) {
      const client = await rp.register();
      const { accessTokens, idTokens } = await signIn(rp, client, {}, { userinfo: false });
      expect(accessTokens.length).toBeGreaterThan(0);
      for (const token of accessTokens) {
        const claims = await checkUserinfo(rp, client, await ask(rp, token), idTokens);
        expect(Object.keys(claims).length).toBeGreaterThan(0);
      }
    },
  };
}

export const userinfoModules: Modules = {
  'oidcc-userinfo-get': asked('OpenID Connect Core 5.3.1', (rp, token) => rp.userinfo(token)),
  'oidcc-userinfo-post-header': asked('OpenID Connect Core 5.3.1, RFC 6750 2.1', (rp, token) =>
    rp.bed.network.send(rp.discovery.userinfo_endpoint, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: '',
    }),
  ),
  'oidcc-userinfo-post-body': asked('OpenID Connect Core 5.3.1, RFC 6750 2.2', (rp, token) => {
    const { headers, body } = form({ access_token: token });
    return rp.bed.network.send(rp.discovery.userinfo_endpoint, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json' },
      body,
    });
  }),
  'oidcc-userinfo-rs256': {
    clause: 'OpenID Connect Core 5.3.2',
    async run(rp) {
      expect(texts(rp.discovery, 'userinfo_signing_alg_values_supported')).toContain('RS256');
      const client = await rp.register({ userinfo_signed_response_alg: 'RS256' });
      expect(client.metadata['userinfo_signed_response_alg']).toBe('RS256');
      const { userinfos } = await signIn(rp, client);
      expect(userinfos.length).toBeGreaterThan(0);
    },
  },
};
