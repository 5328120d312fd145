// Runs an application of passport with its strategy passport-openidconnect, whose settings name each address of the provider.
import passport from 'passport';
import OpenIDConnectStrategy from 'passport-openidconnect';
import { clientId, clientSecret, issuer, url } from '../environment.ts';
import { serveWithPassport, type User } from '../passport-application.ts';

passport.use(
  new OpenIDConnectStrategy(
    {
      issuer,
      authorizationURL: `${issuer}/authorize`,
      tokenURL: `${issuer}/token`,
      userInfoURL: `${issuer}/user/info`,
      clientID: clientId,
      clientSecret,
      callbackURL: `${url}/callback`,
      scope: ['profile', 'email'],
      nonce: true,
      skipUserProfile: false,
    },
    (
      _issuer: string,
      profile: { id: string; displayName: string; emails: { value: string }[] },
      _context: object,
      idToken: string,
      accessToken: string,
      _refreshToken: string | undefined,
      _parameters: object,
      verified: (error: unknown, user: User) => void,
    ) =>
      verified(null, {
        sub: profile.id,
        name: profile.displayName,
        email: profile.emails[0]!.value,
        accessToken,
        idToken,
      }),
  ),
);

await serveWithPassport('openidconnect', ({ idToken }) => {
  const parameters = { id_token_hint: idToken, post_logout_redirect_uri: `${url}/signed-out` };
  return new URL(`${issuer}/logout?${new URLSearchParams(parameters).toString()}`);
});
