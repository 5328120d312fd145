// Declares the parts that the pages of a sign-in by a connection share: their dependencies, the waiting step, and the form that confirms it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Elsewhere } from '../../authenticators/connection/elsewhere.ts';
import type { ConnectionSteps, StepContinuation } from '../../authenticators/connection/steps.ts';
import type { UpstreamLogout } from '../../authenticators/connection/upstream-logout.ts';
import type { FormOutcomes } from '../../browser/form-outcomes.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { VerifiedIdentity } from '../../domain/connections/kind.ts';
import type { ConnectionKinds } from '../../domain/connections/kinds.ts';
import type { SamlService } from '../../domain/connections/saml/service.ts';
import type { UpstreamTokens } from '../../domain/connections/upstream-tokens.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import type { AuditTrail } from '../../server/audit.ts';
import type { LinkIdentity } from '../../domain/connections/link-identity.ts';
import { findPendingRequest, type PendingRequest } from '../../interaction/pending-request-view.ts';
import type { RememberedRequests } from '../../interaction/remembered-request.ts';
import type { SignIn } from '../../interaction/sign-in.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import type { NotedUses } from '../../repositories/uses/noted-uses.ts';
import { languagesOf } from '../../server/accept-language.ts';
import { clientAddress } from '../../server/network.ts';
import { readParameters, text } from '../../server/parameters.ts';

export interface LoginConnectionsDependencies {
  store: Store;
  clients: ClientCache;
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  signIn: SignIn;
  rememberedRequests: RememberedRequests;
  pages: PageResponses;
  elsewhere: Elsewhere;
  connectionSteps: ConnectionSteps;
  linkIdentity: LinkIdentity;
  connectionKinds: ConnectionKinds;
  saml: SamlService;
  upstreamTokens: UpstreamTokens;
  upstreamLogout: UpstreamLogout;
  limits: Limits;
  audit: AuditTrail;
  uses: NotedUses;
}

/** The addresses of the pages to which an answer can lead. */
export const connectPath = '/login/connect';
export const namePath = '/login/name';

const pathShape = z.object({ id: text(40) });

/** The id of the connection in the address of a request. */
export const idOf = (request: FastifyRequest): string => readParameters(pathShape, request.params).id;

/** The browser's session, and its pending authorization request. */
export async function contextOf(
  options: LoginConnectionsDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  transaction: string | undefined,
): Promise<{ session: Session | undefined; pending: PendingRequest | undefined }> {
  const session = await options.sessions.find(request, reply);
  return { session, pending: await findPendingRequest(options, request, transaction) };
}

export const continuationIn = ({ transaction, destination, remember }: StepContinuation): StepContinuation => ({
  transaction,
  destination,
  remember,
});

/** The identity and the account that the page shows. The form sends them back, so that it confirms exactly these (federation FR9). */
export const shownOf = ({
  identity: { issuer, subject },
  sub = '',
}: {
  identity: VerifiedIdentity;
  sub?: string | undefined;
}) => JSON.stringify([issuer, subject, sub]);

export const byOf = (request: FastifyRequest) => ({ address: clientAddress(request), languages: languagesOf(request) });
