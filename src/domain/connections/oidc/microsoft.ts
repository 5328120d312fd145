// Signs users in with accounts of Microsoft Entra ID, of one tenant or of several (federation 5).
import { z } from 'zod';
import { member } from '../../../entities/entity.ts';
import { addressOf, type Claims, isSubject } from '../../../rules/connections/connection-answer.ts';
import { rule } from '../../../oauth/refusals.ts';
import { ConnectionFailure, type ConnectionVariant, variantOf } from '../kind.ts';
import { objectOf } from '../provider-client.ts';
import { clientId, listField, listOf, originOf, scopeSetting, scopesOf } from '../settings.ts';
import { type OidcProfile, profileOf } from './profile.ts';
import { readSettings } from './settings.ts';

/** Microsoft's clouds, each with its Microsoft Graph. The service reads groups at these addresses only. */
const graphs: Record<string, string> = {
  'https://login.microsoftonline.com': 'https://graph.microsoft.com',
  'https://login.microsoftonline.us': 'https://graph.microsoft.us',
  'https://login.partner.microsoftonline.cn': 'https://microsoftgraph.chinacloudapi.cn',
};
const clouds = Object.keys(graphs) as [string, ...string[]];

const guid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
/** The id of a tenant. A name such as `common` would admit users of every tenant. */
const tenant = z.string().max(100).toLowerCase().regex(guid, { error: 'invalid' });

/** The most groups in one answer of Microsoft Graph. */
const pageSize = 999;

export function microsoftPreset(allowed: readonly string[]): ConnectionVariant<OidcProfile> {
  const settings = {
    tenants: member(
      'The tenants whose users may sign in.',
      listOf(tenant, 100).refine((tenants) => tenants.length > 0, rule('empty')),
      { required: true, trust: true, form: listField },
    ),
    client_id: clientId,
    scope: scopeSetting('openid profile email'),
    graph_groups: member(
      'Whether Microsoft Graph is asked for the groups of a user who has more than a token names.',
      z.boolean(),
      { start: false, trust: true, group: 'groups', form: 'check' },
    ),
    authority: originOf(clouds, allowed),
  };
  return variantOf(settings, {
    // an account name at Microsoft has the form of an address, which a new user cannot have as user name
    starts: { username_local_part: true },
    profile({ client_id, tenants, scope, graph_groups: asksGraph, authority }) {
      const issuerOf = (name: string) => `${authority}/${name}/v2.0`;
      const [only] = tenants.length === 1 ? tenants : [];
      // one document serves all tenants: its issuer has a placeholder, and the token has the tenant
      const template = issuerOf('{tenantid}');
      const below = issuerOf(only ?? 'organizations');
      const graph = graphs[authority] ?? authority;
      const isOfTenant = (said: unknown) => {
        const name = typeof said === 'string' ? said.slice(authority.length + 1, -'/v2.0'.length) : '';
        return guid.test(name) && said === issuerOf(name);
      };
      // without the scope profile, a token has no oid
      const scopes = scopesOf(scope, ['openid', 'profile', ...(asksGraph ? ['User.Read'] : [])]);
      return {
        ...profileOf(
          readSettings({
            issuer: below,
            client_id,
            scope: scopes,
            token_endpoint_auth_method: 'client_secret_post',
          }),
        ),
        issuer: only && issuerOf(only),
        discovery: below,
        documentIssuer: only ? below : template,
        userinfo: false,
        // a user of a tenant that is not in the list learns this after the token is verified
        isIssuer: (said) => (only ? said === issuerOf(only) : isOfTenant(said)),
        // a key that Microsoft publishes for one issuer must not sign for another one
        usesKey: ({ issuer }) =>
          issuer === undefined || issuer === template || tenants.some((one) => issuer === issuerOf(one)),
        hasOwnSubject: true,
        identify({ idToken, claims }) {
          const { tid, oid, iss } = idToken;
          if (typeof tid !== 'string' || iss !== issuerOf(tid))
            throw new ConnectionFailure('answer', 'tid is missing, or does not fit iss');
          if (!tenants.includes(tid))
            throw new ConnectionFailure('organization', 'the tenant is none of the connection');
          if (!isSubject(oid)) throw new ConnectionFailure('answer', 'oid is missing');
          // a tenant can enter any address, unless Microsoft states that the tenant has proven its domain ("nOAuth")
          const address = addressOf({ ...claims, email_verified: idToken['xms_edov'] === true });
          return { issuer: issuerOf(tid), subject: oid, address };
        },
        complete: (claims, accessToken, client) =>
          asksGraph && hasMoreGroups(claims) ? withGroups(claims, accessToken, client, graph) : Promise.resolve(claims),
      };
    },
  });
}

/** Whether the token has an address in place of too many groups. The service never sends a request to that address (federation FR13). */
function hasMoreGroups({ groups, _claim_names: names }: Claims): boolean {
  return groups === undefined && typeof names === 'object' && names !== null && Object.hasOwn(names, 'groups');
}

/** Reads the groups at the fixed address of Microsoft Graph. If the answer is incomplete, the groups are unknown (federation FR15). */
async function withGroups(
  claims: Claims,
  accessToken: unknown,
  client: Parameters<NonNullable<OidcProfile['complete']>>[2],
  graph: string,
): Promise<Claims> {
  const url = `${graph}/v1.0/me/transitiveMemberOf/microsoft.graph.group?$select=id&$count=true&$top=${pageSize}`;
  try {
    const { status, body } = await client.read(url, accessToken, {
      headers: { consistencylevel: 'eventual' },
      maxBytes: 256 * 1024,
    });
    const answer = status === 200 ? objectOf(body) : {};
    const found = answer['value'];
    // the answer names the address of a second page, to which the service sends no request
    if (!Array.isArray(found) || answer['@odata.nextLink'] !== undefined) return claims;
    const groups = found.map((one: unknown) => (one as { id?: unknown } | null)?.id);
    return groups.every((id) => typeof id === 'string') ? { ...claims, groups } : claims;
  } catch (error) {
    if (!(error instanceof ConnectionFailure)) throw error;
    return claims;
  }
}
