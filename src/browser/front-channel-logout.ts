// Lists the addresses that the browser loads in hidden frames at a sign-out (OpenID Connect Front-Channel Logout 1.0).
import { withQuery } from '../oauth/redirect-uri.ts';
import type { Repositories } from '../repositories/store.ts';

/** The addresses of the clients of a session; call it before the session ends (section 3). */
export async function logoutFrames(
  { clientSessions }: Pick<Repositories, 'clientSessions'>,
  issuer: string,
  session: { id: string; sid: string },
): Promise<string[]> {
  const named: [string, string][] = [
    ['iss', issuer],
    ['sid', session.sid],
  ];
  return (await clientSessions.frontchannelLogoutUris(session.id)).map((uri) => withQuery(uri, named));
}
