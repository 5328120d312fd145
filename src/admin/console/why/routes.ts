// Serves GET /admin/why/{reference}, which explains what happened by the reference that a page showed.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isPermitted } from '../../../entities/permission.ts';
import type { RefusalFacts } from '../../../oauth/errors.ts';
import { accessReasons } from '../../../rules/access/check-access.ts';
import { type ConsoleAccessPages, refusedFactors } from '../../../pages/views/console-access.ts';
import { clientPath } from '../../client-review.ts';
import { findRefusal } from '../../operations/pages/refusals.ts';
import { showUserAccess } from '../../operations/user-access.ts';
import { checkedAccess } from '../access-view.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { linkedNames } from '../linked-names.ts';
import { singleValued } from '../../../server/parameters.ts';

type Found = NonNullable<ConsoleAccessPages['console-why']['found']>;

export async function consoleWhyEndpoint(app: FastifyInstance, { console }: { console: Console }): Promise<void> {
  const show = async (admin: AdminSession, request: FastifyRequest) => {
    const { reference = '' } = singleValued(request.params);
    const found = /^[0-9a-f]{8}$/.test(reference) ? await admin.run(findRefusal, reference) : undefined;
    if (!found) return admin.send('console-why', { reference }, { section: 'search', status: 404 });
    const { kept, names, connectionName } = found;
    const { facts, refusedAt } = kept;
    const sub = textIn(facts, 'sub');
    const clientId = textIn(facts, 'client_id');
    const { user, client } = linkedNames(names)({ sub, clientId });
    const mayCheck = isPermitted(admin.by.kind, showUserAccess.permission, showUserAccess.act);
    const checked = user?.uri !== undefined && client?.uri !== undefined && mayCheck;
    const connection = textIn(facts, 'connection');
    const code = codeOf(facts);
    const data: Found = {
      at: refusedAt,
      description: textIn(facts, 'error_description') ?? '',
      ...(code && { code }),
      ...members(facts, ['reason', 'path', 'address', 'sent', 'hint']),
      ...(Array.isArray(facts['registered']) && { registered: facts['registered'] as readonly string[] }),
      ...(user && { user }),
      ...(client && { client }),
      ...(connection !== undefined && {
        connection: {
          id: connection,
          ...(connectionName !== undefined && { name: connectionName, uri: `/admin/connections/${connection}` }),
        },
      }),
      ...(kept.event !== undefined && { eventUri: `/admin/audit/${kept.event}` }),
      ...actOf(facts, { user, client, hasConnection: connectionName !== undefined }),
      ...(checked && { check: await checkedAccess(admin, sub!, clientId!, textIn(facts, 'address')) }),
    };
    return admin.send('console-why', { reference, found: data }, { section: 'search' });
  };

  console.page(app, '/admin/why/:reference', show, { needs: findRefusal });
}

function textIn(facts: RefusalFacts, name: string): string | undefined {
  const value = facts[name];
  return typeof value === 'string' ? value : undefined;
}

const members = <N extends string>(facts: RefusalFacts, names: readonly N[]): Partial<Record<N, string>> => {
  const found: Partial<Record<N, string>> = {};
  for (const name of names) {
    const value = textIn(facts, name);
    if (value !== undefined) found[name] = value;
  }
  return found;
};

/** The rule that refused, if the page has words of its own for it. */
function codeOf(facts: RefusalFacts): Found['code'] {
  if (facts['sent'] !== undefined && facts['registered'] !== undefined) return 'redirect';
  const code = [...accessReasons, ...refusedFactors].find((reason) => reason === facts['reason']);
  // its words name the user
  const hasWords = facts['sub'] !== undefined || code === 'unknown_user' || code === 'email_code';
  return hasWords ? code : undefined;
}

/** The button of a refusal that is none of access: those of access have theirs in the check. */
function actOf(
  facts: RefusalFacts,
  { user, client, hasConnection }: Pick<Found, 'user' | 'client'> & { hasConnection: boolean },
): Pick<Found, 'act'> {
  const code = codeOf(facts);
  if (code === 'redirect' && client?.uri !== undefined)
    return { act: { act: 'edit-redirects', uri: `${clientPath(String(facts['client_id']))}/edit#redirect_uris` } };
  if (user?.uri !== undefined && facts['problem'] === undefined && code !== undefined && code !== 'consent_denied')
    return { act: { act: 'user', uri: user.uri } };
  if (facts['problem'] !== undefined && hasConnection)
    return { act: { act: 'connection', uri: `/admin/connections/${String(facts['connection'])}` } };
  return {};
}
