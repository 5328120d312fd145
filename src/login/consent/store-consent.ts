// Stores the End-User's decision on the consent page, with the grant and the event, in one transaction.
import type { ConsentQuestion } from '../../interaction/relying-party.ts';
import type { Granted } from '../../oauth/granted.ts';
import type { AuditLog } from '../../repositories/audit/audit-events.ts';
import type { ConsentDecision } from '../../repositories/authorization-requests/authorization-requests.ts';
import type { Store } from '../../repositories/store.ts';

interface Consent {
  /** The digest of the stored request's id. */
  idHash: Buffer;
  decision: ConsentDecision;
  /** What the page showed. */
  question: Pick<ConsentQuestion, 'client' | 'registeredUri' | 'asked' | 'apis' | 'details'>;
  address: string | undefined;
  /** Of a denial, for administrators. */
  reference: string;
  /** The digest of the form that decides. */
  formHash: Buffer | undefined;
}

/**
 * Decides what a decision changes. The first decision of a user about a request counts; another user decides anew.
 * @param stored the stored request; undefined if it was answered
 */
export function decideConsent(
  stored: { decision: ConsentDecision | undefined } | undefined,
  { allowed, sub }: ConsentDecision,
): 'grant' | 'deny' | 'ignore' {
  if (!stored || stored.decision?.sub === sub) return 'ignore';
  return allowed ? 'grant' : 'deny';
}

/** The details that the grant has: those that the user allowed and that the service remembers. The decision has the others. */
function rememberedDetails(
  { details }: Consent['question'],
  { details: allowed = [] }: ConsentDecision,
): Pick<Granted, 'details'> {
  const kept = details.filter(({ detail, type }) => type.remembered && allowed.includes(detail));
  return { details: kept.length > 0 ? kept.map(({ detail }) => detail) : undefined };
}

/** @param log the log for the event's line */
export function storeConsent(
  store: Pick<Store, 'transaction'>,
  { idHash, decision, question, address, reference, formHash }: Consent,
  log: AuditLog,
): Promise<void> {
  const { sub } = decision;
  const { asked: whole, apis, registeredUri } = question;
  const asked = { ...whole, ...rememberedDetails(question, decision) };
  const { scope, claims, resources } = asked;
  const named = apis.flatMap(({ id, resource }) => (resources[id] ?? []).map((value) => `${resource} ${value}`));
  const { clientId } = question.client;
  return store.transaction(async ({ authorizationRequests, grants, auditEvents }) => {
    const outcome = decideConsent(await authorizationRequests.lock(idHash), decision);
    if (outcome === 'ignore') return;
    const type = outcome === 'grant' ? 'consent.granted' : 'consent.denied';
    const detail = {
      scope: [...scope],
      ...(claims.length > 0 && { claims: [...claims] }),
      ...(named.length > 0 && { resources: named }),
      ...(decision.details && { authorization_details: decision.details.map(({ type }) => type) }),
      ...(outcome === 'deny' && { reference }),
    };
    await Promise.all([
      authorizationRequests.decide(idHash, decision, formHash),
      outcome === 'grant' && grants.add(sub, clientId, asked, registeredUri),
      auditEvents.insert({ type, outcome: 'success', actor: sub, sub, clientId, address, detail }, log),
    ]);
  });
}
