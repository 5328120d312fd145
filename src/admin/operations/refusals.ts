// Declares the operation that tells what is behind a refusal, by the reference that its page shows.
import { z } from 'zod';
import { notFound } from '../../oauth/errors.ts';
import { rule } from '../../oauth/refusals.ts';
import type { StoredEvent } from '../../repositories/audit/audit-search.ts';
import type { KeptRefusal } from '../../repositories/refusals/refusals.ts';
import type { Store } from '../../repositories/store.ts';
import { accessReasons } from '../../rules/access/check-access.ts';
import { operation } from './operation.ts';
import { facts, shellWord } from './text-table.ts';
import { accessSentences } from './user-access.ts';

const byReference = z.object({
  reference: z
    .string()
    .regex(/^[0-9a-f]{8}$/, rule('reference'))
    .describe('The reference that the page showed.'),
});

/** A refusal, with the event that records it if it has one, and the name of its user. */
type NamedRefusal = KeptRefusal & { event?: string; username?: string };

const viewOf = ({ reference, refusedAt, facts: known, event, username }: NamedRefusal) => ({
  reference,
  at: refusedAt.toISOString(),
  ...known,
  ...(username !== undefined && { username }),
  ...(event !== undefined && { event }),
});

/** What was kept of a refusal, or its event: that of a failed sign-in, and of a denial, is in the audit trail alone. */
export async function refusalNamed(
  { refusals, auditSearch }: Pick<Store, 'refusals' | 'auditSearch'>,
  reference: string,
): Promise<NamedRefusal | undefined> {
  const [kept, event] = await Promise.all([refusals.find(reference), auditSearch.findReferred(reference)]);
  return kept ?? (event && refusalOf(event));
}

/** An event as a refusal: its reason is that of its detail, or follows from what it is about. */
function refusalOf({ id, at, type, sub, clientId, address, detail = {} }: StoredEvent): NamedRefusal {
  const { reference, reason, connection } = detail;
  const facts = {
    error: 'access_denied',
    error_description: type === 'user.sign_in_failed' ? 'the sign-in failed' : 'the End-User did not allow it',
    ...(sub !== undefined && { sub }),
    ...(clientId !== undefined && { client_id: clientId }),
    ...(address !== undefined && { address }),
    ...(typeof connection === 'string' && { connection }),
    reason: reasonOf(type, detail) ?? String(reason ?? type),
  };
  return { reference: String(reference), refusedAt: at, facts, event: id };
}

function reasonOf(type: StoredEvent['type'], detail: NonNullable<StoredEvent['detail']>): string | undefined {
  if (type === 'consent.denied') return 'consent_denied';
  if (type === 'access.refused') return 'access_refused';
  if (detail['second_factor'] !== undefined) return 'second_factor';
  return detail['email_code'] === undefined ? undefined : 'email_code';
}

/** What an administrator can do about a refusal of access, and the command that shows the present state. */
function remediesOf({ facts: known, username }: NamedRefusal): string[] {
  const reason = accessReasons.find((each) => each === known['reason']);
  const clientId = known['client_id'];
  return [
    ...(reason ? ['', accessSentences[reason]] : []),
    ...(username !== undefined && typeof clientId === 'string'
      ? [
          '',
          `Whether the user may use the client now: bin/gatehouse user access ${shellWord(username)} ${shellWord(clientId)}`,
        ]
      : []),
  ];
}

const readRefusal = operation({
  permission: 'audit',
  method: 'GET',
  path: '/admin/api/refusals/:reference',
  tag: 'audit',
  summary: 'Explains a refusal by the reference that its page showed',
  params: byReference,
  answer: 'Refusal',
  async handler({ store }, { params: { reference } }) {
    const kept = await refusalNamed(store, reference);
    if (!kept)
      throw notFound(
        'no refusal is stored with this reference: the service stores refusals for 24 hours, and at most 10 per minute and network; search its log for the reference',
      );
    const { sub } = kept.facts;
    const user = typeof sub === 'string' ? await store.users.find(sub) : undefined;
    return { ...kept, ...(user && { username: user.username }) };
  },
  view: viewOf,
  command: {
    name: 'why',
    text: (kept) => [facts(viewOf(kept)), ...remediesOf(kept)].join('\n'),
  },
});

export const refusalOperations = [readRefusal];
