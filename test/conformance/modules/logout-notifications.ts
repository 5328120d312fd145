// Notifies relying parties of a sign-out: by a frame that they query, in frames of the browser, or by a request of the service itself.
import { decodeProtectedHeader, importJWK, jwtVerify } from 'jose';
import { expect } from 'vitest';
import { eventually } from '../../helpers/grants.ts';
import { openFrame } from '../bed/frame.ts';
import { signingKey } from '../checks/id-token.ts';
import type { Modules } from './definition.ts';
import { expectBack, logoutState, logOut, signedIn } from './rp-initiated-logout.ts';
import { expectSignedOut } from './sessions.ts';

const backChannelEvent = 'http://schemas.openid.net/event/backchannel-logout';

export const logoutNotificationModules: Modules = {
  'oidcc-session-management-rp-initiated-logout': {
    clause: 'Session Management 2, 3.2, 3.3',
    async run(rp) {
      const { client, grant, hint, back } = await signedIn(rp);
      const sessionState = grant.parameters['session_state'];
      expect(sessionState, 'session_state of the authorization response').toMatch(/^\S+$/);
      const { origin } = new URL(client.redirectUri);
      const frame = await openFrame(
        rp.bed.network,
        rp.browser,
        rp.discovery['check_session_iframe'] as string,
        client.redirectUri,
      );
      const ask = () => frame.ask(`${client.clientId} ${sessionState}`, origin);
      expect(await ask()).toEqual({ answer: 'unchanged', target: origin });
      const state = logoutState();
      expectBack(await logOut(rp, { id_token_hint: hint, post_logout_redirect_uri: back, state }), back, state);
      expect(await ask()).toEqual({ answer: 'changed', target: origin });
    },
  },
  'oidcc-frontchannel-rp-initiated-logout': {
    clause: 'Front-Channel Logout 2, 3',
    async run(rp) {
      const notified = `${rp.address}/frontchannel_logout`;
      const { client, grant, hint, back } = await signedIn(rp, {
        frontchannel_logout_uri: notified,
        frontchannel_logout_session_required: true,
      });
      const sids = new Set(grant.idTokens.map(({ claims }) => claims['sid']));
      expect(sids.size).toBe(1);
      const state = logoutState();
      const logout = await logOut(rp, { id_token_hint: hint, post_logout_redirect_uri: back, state });
      const frames = logout.navigation.frames.filter((frame) => frame.origin + frame.pathname === notified);
      expect(frames.map((frame) => Object.fromEntries(frame.searchParams))).toEqual([
        { iss: rp.discovery.issuer, sid: [...sids][0] },
      ]);
      expectBack(logout, back, state);
      await expectSignedOut(rp, client);
    },
  },
  'oidcc-backchannel-rp-initiated-logout': {
    clause: 'Back-Channel Logout 2',
    async run(rp) {
      const notified = new URL(`${rp.address}/backchannel_logout`);
      const { client, grant, hint, back } = await signedIn(rp, {
        backchannel_logout_uri: notified.href,
        backchannel_logout_session_required: true,
      });
      const state = logoutState();
      expectBack(await logOut(rp, { id_token_hint: hint, post_logout_redirect_uri: back, state }), back, state);
      const ask = async () => rp.bed.suite.received(notified.pathname);
      const [call] = await eventually(ask, (calls) => calls.length > 0);
      expect(call).toMatchObject({ method: 'POST', tls: 'TLSv1.3' });
      expect(call!.contentType).toMatch(/^application\/x-www-form-urlencoded\b/);
      const parameters = [...new URLSearchParams(call!.body)];
      expect(parameters.map(([name]) => name)).toEqual(['logout_token']);
      const token = parameters[0]![1];
      const { kid, alg } = decodeProtectedHeader(token);
      expect(alg).toBe('RS256');
      const { payload } = await jwtVerify(token, await importJWK(signingKey(rp.keys, kid, alg!), alg), {
        issuer: rp.discovery.issuer,
        audience: client.clientId,
        requiredClaims: ['iat', 'jti', 'events'],
        maxTokenAge: '1 day',
      });
      expect(payload['events']).toEqual({ [backChannelEvent]: {} });
      expect(payload).not.toHaveProperty('nonce');
      const { sub, sid } = grant.idTokens[0]!.claims;
      expect(payload).toMatchObject({ sid });
      if (payload.sub !== undefined) expect(payload.sub).toBe(sub);
      await expectSignedOut(rp, client);
    },
  },
};
