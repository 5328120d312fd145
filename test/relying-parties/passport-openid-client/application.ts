// Runs an application of passport with openid-client's strategy, which finds the provider by discovery.
import * as client from 'openid-client';
import { Strategy } from 'openid-client/passport';
import passport from 'passport';
import { clientId, clientSecret, issuer, url } from '../environment.ts';
import { serveWithPassport } from '../passport-application.ts';

const provider = await client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
  execute: [client.allowInsecureRequests],
});

passport.use(
  'gatehouse',
  new Strategy(
    { config: provider, callbackURL: `${url}/callback`, scope: 'openid profile email' },
    async (tokens, verified) => {
      const { sub } = tokens.claims()!;
      const { name, email } = await client.fetchUserInfo(provider, tokens.access_token, sub);
      verified(null, { sub, name, email, accessToken: tokens.access_token, idToken: tokens.id_token });
    },
  ),
);

await serveWithPassport('gatehouse', ({ idToken }) =>
  client.buildEndSessionUrl(provider, {
    id_token_hint: idToken,
    post_logout_redirect_uri: `${url}/signed-out`,
  }),
);
