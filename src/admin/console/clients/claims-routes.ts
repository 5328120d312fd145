// Serves the console's page about what a client learns of users: roles, scopes of the operator, rules for claims, and a preview.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { clientSettings } from '../../../entities/client-settings.ts';
import { viewOf } from '../../../entities/entity.ts';
import { ruleListsOf } from '../../../entities/form.ts';
import { OAuthError } from '../../../oauth/errors.ts';
import { type ClientMetadata, displayName } from '../../../oauth/client-metadata.ts';
import { idTokenClaims, introspectionClaims, userinfoClaims } from '../../../rules/claims/claims.ts';
import { samlAttributes } from '../../../rules/saml/attributes.ts';
import { splitScope } from '../../../oauth/scope.ts';
import { text } from '../../../oauth/text.ts';
import type { ConsoleClaimsPages } from '../../../pages/views/console-claims.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { giveRole, roleActs, takeRole } from '../../operations/claims.ts';
import { changeClient, showClient } from '../../operations/clients.ts';
import { changeMetadata, claimsOfUser, clientClaims, isClaimScope } from '../../operations/pages/clients.ts';
import { type Refusal, refusal } from '../../../oauth/refusals.ts';
import type { RefusedView } from '../../../pages/views/parts.ts';
import { refusedView } from '../refused.ts';
import { ruleLists, type RuleOwner, rulePages } from '../rule-pages.ts';
import { type AdminSession, type Console, consoleClientId } from '../admin-session.ts';
import { clientPath, listPath } from './view.ts';

const byId = z.object({ id: text(255) });

type Page = ConsoleClaimsPages['console-client-claims'];
type Typed = Readonly<Record<string, string>>;

interface ClaimsRoutesDependencies {
  console: Console;
}

export async function clientClaimsRoutes(app: FastifyInstance, { console }: ClaimsRoutesDependencies): Promise<void> {
  const find = (admin: AdminSession, request: FastifyRequest) =>
    admin.run(showClient, readParameters(byId, request.params));
  const pathOf = (clientId: string) => `${clientPath(clientId)}/claims`;

  const ownerOf = (client: Client): RuleOwner => {
    const { clientId } = client;
    const name = displayName(clientId, client.metadata);
    return {
      path: clientPath(clientId),
      name,
      trail: [
        { uri: listPath, words: 'console.clients.title' },
        { uri: clientPath(clientId), name },
        { uri: pathOf(clientId), words: 'console.claims.title' },
      ],
      words: 'console.client',
      values: viewOf(clientSettings, client),
      // the console keeps its own client
      lists: clientId === consoleClientId ? {} : listsOf(client),
    };
  };
  rulePages(app, console, {
    path: `${listPath}/:id`,
    section: 'clients',
    needs: changeClient,
    find,
    ownerOf,
    change: (admin, { clientId: id, version }, members) => admin.perform(changeClient, { id }, { ...members, version }),
  });

  const showPage = async (admin: AdminSession, request: FastifyRequest) => {
    const { user } = singleValued(request.query);
    return show(admin, await find(admin, request), { user: user?.trim() });
  };
  console.page(app, `${listPath}/:id/claims`, showPage, { needs: clientClaims });

  app.post(`${listPath}/:id/claims`, async (request, reply) => {
    const path = pathOf(readParameters(byId, request.params).id);
    const typed = singleValued(request.body);
    const admin = await console.submitted(request, reply, {
      csrf: typed['csrf'],
      action: path,
      back: path,
      fresh: true,
      needs: changeClient,
    });
    if (!admin) return reply;
    const client = await find(admin, request);
    const refusal = await act(admin, client, typed);
    return refusal ? show(admin, await find(admin, request), { typed, refusal }) : admin.done(path, 'claims-saved');
  });

  /** Does what a form asks for. @returns why not */
  async function act(admin: AdminSession, client: Client, typed: Typed): Promise<Refusal | undefined> {
    const { clientId: id } = client;
    const role = typed['role'] ?? '';
    const outcome = (done: { done: unknown } | { refused: Refusal }) => ('done' in done ? undefined : done.refused);
    const members = {
      ...(typed['group'] && { groups: [typed['group'].trim()] }),
      ...(typed['user'] && { users: [typed['user'].trim()] }),
    };
    switch (typed['act']) {
      case 'role-add':
        return outcome(await admin.perform(roleActs.create, { id }, { name: typed['name'] ?? '' }));
      case 'role-delete':
        return outcome(await admin.perform(roleActs.remove, { id, role }));
      case 'role-give':
        return outcome(await admin.perform(giveRole, { id, role }, members));
      case 'role-take':
        return outcome(await admin.perform(takeRole, { id, role }, members));
      case 'scope-give':
      case 'scope-take': {
        const { scope = '' } = typed;
        if (!(await admin.run(isClaimScope, scope))) return refusal('unknown', 'scope');
        const given = typed['act'] === 'scope-give' ? [scope] : [];
        const change = (metadata: ClientMetadata) => {
          const others = splitScope(metadata.scope).filter((one) => one !== scope);
          return { ...metadata, scope: [...others, ...given].join(' ') };
        };
        return unlessRefused(() => admin.run(changeMetadata, { id, change }));
      }
      default:
        return refusal('unknown', 'act');
    }
  }

  async function show(
    admin: AdminSession,
    client: Client,
    { user, typed = {}, refusal }: { user?: string | undefined; typed?: Typed; refusal?: Refusal },
  ): Promise<FastifyReply> {
    const { clientId } = client;
    const { roles, scopes } = await admin.run(clientClaims, clientId);
    const shown = user ? await preview(admin, client, user) : undefined;
    const data = {
      clientUri: clientPath(clientId),
      name: displayName(clientId, client.metadata),
      form: admin.form(pathOf(clientId)),
      own: clientId === consoleClientId,
      roles: roles.map((role) => ({
        ...role,
        holders: role.holders.map(({ sub, username }) => ({
          sub,
          username,
          uri: `/admin/users/${encodeURIComponent(sub)}`,
        })),
      })),
      scopes: scopes.map(({ name, text, claims }) => ({
        name,
        text,
        claims,
        given: splitScope(client.metadata.scope).includes(name),
      })),
      rules: ruleLists(admin, ownerOf(client)),
      typed,
      ...(refusal && { refused: refusedControl(refusal, typed, roles) }),
      ...(shown && { preview: shown }),
    };
    const status = refusal || shown?.fault ? 400 : 200;
    return admin.send('console-client-claims', data, { section: 'clients', status });
  }

  /** What the client would get of a user who grants its whole scope. Nothing is issued or stored (federation F67). */
  async function preview(admin: AdminSession, client: Client, login: string): Promise<NonNullable<Page['preview']>> {
    const named = await admin.run(claimsOfUser, { client, login });
    if (typeof named === 'string') return { typed: login.slice(0, 320), fault: named };
    const { user: found, roles, sub } = named;
    const scopes = splitScope(client.metadata.scope);
    const granted = { user: { ...found, roles }, scopes, requested: undefined, registered: undefined };
    const subject = sub === undefined ? {} : { sub };
    const all =
      client.metadata.id_token_claims || !client.metadata.response_types.some((type) => type.includes('code'));
    const { claims, groupsOmitted } = idTokenClaims(client, granted, all);
    const { released, made } = introspectionClaims(client, granted, true);
    const json = (value: unknown) => JSON.stringify(value, undefined, 2);
    if (client.kind === 'saml') {
      const attributes = samlAttributes(client.claimRules, { ...found, roles });
      const values = Object.fromEntries(attributes.map((attribute) => [attribute.name, attribute.values]));
      return { typed: login, username: found.username, saml: json(values) };
    }
    return {
      typed: login,
      username: found.username,
      groupsOmitted,
      idToken: json({ ...subject, ...claims }),
      userinfo: json({ ...userinfoClaims(client, granted), ...subject }),
      introspection: json({ ...made, active: true, username: found.username, ...subject, extended_claims: released }),
    };
  }
}

/** The lists of rules; those of a SAML application begin with its attributes. */
const listsOf = ({ kind }: Client): ReturnType<typeof ruleListsOf> => {
  const lists = ruleListsOf(clientSettings);
  const { claim_rules: rules } = lists;
  return kind === 'saml' && rules ? { ...lists, claim_rules: { ...rules, starts: { into: ['saml'] } } } : lists;
};

/** @returns why files that keep the client forbid the change */
async function unlessRefused(change: () => Promise<void>): Promise<Refusal | undefined> {
  try {
    await change();
    return undefined;
  } catch (error) {
    if (!(error instanceof OAuthError) || error.code !== 'kept_by_file') throw error;
    return error.refusal;
  }
}

/** The refusal, with the id of the control for its member: there is one for each role. */
function refusedControl(given: Refusal, typed: Typed, roles: readonly { name: string }[]): RefusedView {
  const index = roles.findIndex(({ name }) => name === typed['role']);
  const ofRole: Record<string, string> =
    index < 0 ? {} : { groups: `give-group-${index}`, users: `give-user-${index}` };
  const ids: Record<string, string> = typed['act'] === 'role-add' ? { name: 'role-name' } : ofRole;
  const { field, ...view } = refusedView(given, Object.keys(ids));
  return { ...view, ...(field !== undefined && { field: ids[field]! }) };
}
