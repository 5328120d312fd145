// Lets a third party begin the sign-in: what the client registers for it (OpenID Connect Core 4).
import { expect } from 'vitest';
import { json } from '../relying-party.ts';
import type { Modules } from './definition.ts';

export const thirdPartyModules: Modules = {
  'oidcc-3rd_party-init-login': {
    clause: 'OpenID Connect Core 4, Registration 2, 4.2',
    async run(rp) {
      const uri = `${rp.address}/login_initiation`;
      const { metadata, configuration } = await rp.register({ initiate_login_uri: uri });
      expect(metadata['initiate_login_uri']).toBe(uri);
      // twice: reading does not change the token
      for (let i = 0; i < 2; i++) {
        const answer = await rp.bed.network.send(configuration!.uri, {
          headers: { authorization: `Bearer ${configuration!.token}`, accept: 'application/json' },
        });
        expect(answer.status).toBe(200);
        expect(json(answer)).toMatchObject({ initiate_login_uri: uri });
      }
    },
  },
  'oidcc-3rd_party-init-login-nohttps': {
    clause: 'OpenID Connect Core 4, Registration 2',
    // on the loopback, where http is allowed for other addresses
    run: (rp) =>
      rp.expectRegistrationRefused({ initiate_login_uri: 'http://127.0.0.1/login_initiation' }, [
        'invalid_client_metadata',
      ]),
  },
};
