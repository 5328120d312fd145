// Front-channel logout: what the browser loads in hidden frames, so that the applications' pages learn that a session ended.
import { withQuery } from '../oauth/redirect-uri.ts';
import type { Repositories } from '../repositories/store.ts';

/** The addresses for the applications that take part in a session; to be asked before it ends (Front-Channel Logout 1.0 section 3). */
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
