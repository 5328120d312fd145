// Signs users in with GitHub accounts: by their number, with the primary verified address, and with the teams of named organizations (federation 5).
import { member } from '../../../entities/entity.ts';
import { addressOf, type AnsweredAddress } from '../../../rules/connections/connection-answer.ts';
import { text } from '../../../oauth/text.ts';
import { isOutwardAddress } from '../../../outbound/outward-address.ts';
import { ConnectionFailure, type ConnectionVariant, variantOf } from '../kind.ts';
import { jsonOf, objectOf } from '../provider-client.ts';
import { clientId, isOrigin, listField, listOf, scopeSetting, scopesOf } from '../settings.ts';
import { answered, type Ask, type OAuthProfile } from './profile.ts';

const site = 'https://github.com';
const organization = text(100).regex(/^[A-Za-z0-9_-]+$/, { error: 'invalid' });
const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
const pageSize = 100;
/** The most pages of teams. If there are more, the groups of the user are unknown. */
const maxPages = 10;

export function githubPreset(allowed: readonly string[]): ConnectionVariant<OAuthProfile> {
  const settings = {
    client_id: clientId,
    organizations: member('The organizations whose teams are groups.', listOf(organization, 50), {
      start: [],
      trust: true,
      group: 'groups',
      form: listField,
    }),
    scope: scopeSetting('read:user user:email'),
    base: member(
      'The URL of GitHub, or of an Enterprise Server.',
      text(500).refine((base) => isOrigin(base) && isOutwardAddress(base, allowed), { error: 'https.start' }),
      { start: site, trust: true, group: 'protocol', form: 'text' },
    ),
  };
  return variantOf(settings, {
    profile({ client_id, organizations, scope, base }) {
      const api = apiOf(base);
      return {
        issuer: base,
        credential: 'secret',
        wordCounts: true,
        isPosted: false,
        authorizationEndpoint: `${base}/login/oauth/authorize`,
        tokenEndpoint: `${base}/login/oauth/access_token`,
        authentication: { clientId: client_id, method: 'client_secret_post' },
        scope: scopesOf(scope, organizations.length > 0 ? ['read:org'] : []),
        async identify(ask) {
          const { status, body } = await ask(`${api}/user`, { headers });
          if (status !== 200) throw answered(`${api}/user`, status);
          const { id, login, name } = objectOf(body);
          // a user can give up the login, and another user can take it
          if (!Number.isSafeInteger(id) || (id as number) < 1)
            throw new ConnectionFailure('answer', 'the user has no number');
          const groups = organizations.length > 0 ? await teamsOf(ask, api, organizations) : undefined;
          return {
            subject: String(id),
            claims: { preferred_username: login, name, ...(groups && { groups }) },
            address: await addressIn(ask, api),
          };
        },
      };
    },
  });
}

/** The address of the API. GitHub.com and each GHE.com have a host for it, an Enterprise Server has a path. */
function apiOf(base: string): string {
  const { hostname, protocol } = new URL(base);
  const isHosted = base === site || (hostname.endsWith('.ghe.com') && protocol === 'https:');
  return isHosted ? base.replace('://', '://api.') : `${base}/api/v3`;
}

/** The primary address, if it is verified; never the address of the profile. Without the scope, GitHub shows none. */
async function addressIn(ask: Ask, api: string): Promise<AnsweredAddress | undefined> {
  const { status, body } = await ask(`${api}/user/emails?per_page=${pageSize}`, { headers });
  if (status >= 500 || status === 429) throw answered(`${api}/user/emails`, status);
  const listed = status === 200 ? jsonOf(body) : [];
  const addresses = Array.isArray(listed)
    ? (listed as ({ email?: unknown; primary?: unknown; verified?: unknown } | null)[])
    : [];
  const found = addresses.find((one) => one?.primary === true && one.verified === true);
  return found ? addressOf({ email: found.email, email_verified: true }) : undefined;
}

/** The teams as `organization/team`; undefined if GitHub does not list all of them (federation FR15). */
async function teamsOf(ask: Ask, api: string, organizations: readonly string[]): Promise<string[] | undefined> {
  const named = organizations.map((one) => one.toLowerCase());
  const teams: string[] = [];
  for (let page = 1; page <= maxPages; page++) {
    let listed: unknown;
    try {
      const { status, body } = await ask(`${api}/user/teams?per_page=${pageSize}&page=${page}`, {
        headers,
        // enough for a hundred teams with their organizations
        maxBytes: 1024 * 1024,
      });
      listed = status === 200 ? jsonOf(body) : undefined;
    } catch (error) {
      if (!(error instanceof ConnectionFailure)) throw error;
    }
    if (!Array.isArray(listed)) return undefined;
    for (const team of listed as ({ slug?: unknown; organization?: { login?: unknown } | null } | null)[]) {
      const [of, slug] = [team?.organization?.login, team?.slug];
      if (typeof of !== 'string' || typeof slug !== 'string') return undefined;
      if (named.includes(of.toLowerCase())) teams.push(`${of.toLowerCase()}/${slug}`);
    }
    if (listed.length < pageSize) return teams;
  }
  return undefined;
}
