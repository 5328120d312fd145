// Issues an assertion: the session at the application is stored if user, client and limits still allow it, and the response is signed (federation F46, F47).
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createRefusedResponse, type RefusedResponseDependencies } from '../../interaction/refused-response.ts';
import { isKnownAuthTime } from '../../oauth/acr.ts';
import { digest, randomSecret } from '../../crypto/secrets.ts';
import type { Config } from '../../config.ts';
import type { SamlKeys } from '../../domain/keys/saml-keys.ts';
import type { NewResponse } from '../../repositories/tokens/authorization-codes.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import type { NotedUses } from '../../repositories/uses/noted-uses.ts';
import { needsRoles } from '../../rules/claims/claims.ts';
import { samlAttributes } from '../../rules/saml/attributes.ts';
import { classOf } from '../../rules/saml/authn-context.ts';
import { formatOfNameId, nameIdOf } from '../../rules/saml/name-id.ts';
import { statusUris, success } from '../../rules/saml/status.ts';
import { assertionResponse } from '../../saml/identity-provider/response.ts';
import { clientAddress } from '../../server/network.ts';
import { samlEntityId } from '../../rules/saml/addresses.ts';
import { SamlError, errorOf, type SamlRequest } from './sign-on.ts';

/** Seconds for which an application may take an assertion. */
const assertionLifetime = 300;

export interface SamlIssueDependencies extends RefusedResponseDependencies {
  config: Config;
  store: Pick<Store, 'authorizationCodes' | 'clientRoles' | 'pairwiseSubjects' | 'transaction'>;
  samlKeys: SamlKeys;
  uses: Pick<NotedUses, 'note'>;
}

/** A new ID of a message (SAML Core 1.3.4): it does not begin with a digit. */
export const newId = (): string => `_${randomSecret()}`;

export function createSamlIssue(options: SamlIssueDependencies) {
  const { config, store, samlKeys, uses } = options;
  const refused = createRefusedResponse(options);
  const issuer = samlEntityId(config.issuer);

  /** @throws SamlError if the user has no such name */
  async function nameOf(request: SamlRequest, { user }: Session): Promise<string> {
    const { nameId = 'persistent', clientId } = request.client;
    const pairwise =
      nameId === 'persistent' ? await store.pairwiseSubjects.ofSector(samlSector(clientId), user.sub) : '';
    const name = nameIdOf(nameId, user, pairwise);
    if (name !== undefined) return name;
    throw new SamlError(
      request,
      { code: 'Responder', inner: 'InvalidNameIDPolicy' },
      `the user has no ${nameId} for the NameID`,
    );
  }

  /**
   * @returns the response in XML; undefined if the session is over and the user has to sign in
   * @throws SamlError, OAuthError
   */
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    verified: SamlRequest,
    session: Session,
    idHash: Buffer | undefined,
  ): Promise<string | undefined> => {
    const { client, target, saml } = verified;
    const { clientId } = client;
    const nameId = await nameOf(verified, session);
    const roles = needsRoles(client, []) ? await store.clientRoles.ofUser(session.user, clientId) : undefined;
    const key = await samlKeys.signing();
    const sessionIndex = newId();
    const { lifetimes, rememberMe } = config;
    const stored: NewResponse = {
      ...nothingOfOAuth,
      sessionId: session.id,
      clientId,
      clientVersion: client.version,
      redirectUri: target.redirectUri,
      // it ends with its session, whenever that is
      clientSessionLifetime: Math.max(lifetimes.session, rememberMe ? lifetimes.rememberedSession : 0),
      requestHash: idHash,
      maxPerMinute: config.limits.codesPerSession,
      address: clientAddress(request),
    };
    const issued = await store.transaction(async (repositories) => {
      const outcome = await repositories.authorizationCodes.issue(stored);
      if (!('refusal' in outcome))
        await repositories.samlSessions.insert({ sessionId: session.id, clientId, sessionIndex, nameId });
      return outcome;
    });
    if ('refusal' in issued) {
      const error = await refused(issued.refusal, request, reply, verified, session, (code, description) =>
        errorOf(verified, code, description),
      );
      if (error) throw error;
      return undefined;
    }
    const { issuedAt: at } = issued;
    const after = (seconds: number) => new Date(at.getTime() + seconds * 1000);
    uses.note('clients', clientId);
    request.log.info({ client_id: clientId, sub: session.user.sub }, 'SAML assertion issued');
    return assertionResponse(
      { id: newId(), issuer, destination: target.redirectUri, inResponseTo: saml.inResponseTo, at },
      {
        id: newId(),
        audience: client.entityId,
        nameId: { format: formatOfNameId(client.nameId ?? 'persistent'), value: nameId },
        sessionIndex,
        // SAML demands a time: that of the session stands for one that the connection did not tell
        authTime: isKnownAuthTime(session.authTime) ? session.authTime : at,
        contextClass: classOf(session.amr, saml.context),
        attributes: samlAttributes(client.claimRules, { ...session.user, roles }),
        until: after(assertionLifetime),
        sessionUntil: client.sessionLifetime === undefined ? undefined : after(client.sessionLifetime),
      },
      statusUris(success),
      key,
      { whole: client.signResponse ?? false, encryptTo: client.encryptionCertificate },
    );
  };
}

/** The sector of the pairwise subjects of one application, which no host can be. */
export const samlSector = (clientId: string): string => `saml:${digest('saml-sector', clientId).toString('base64url')}`;

/** What an assertion does not have. */
const nothingOfOAuth = {
  codeHash: undefined,
  accessTokenHash: undefined,
  scope: [] as string[],
  claims: [] as string[],
  requested: undefined,
  offline: false,
  nonce: undefined,
  codeChallenge: undefined,
  codeBinding: 'none',
  audience: undefined,
  resources: [],
  subject: undefined,
  lifetime: 1,
  accessTokenLifetime: 1,
  maxCodes: 1,
} as const;
