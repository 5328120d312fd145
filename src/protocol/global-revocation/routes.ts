// Serves POST /revoke-user: a client with the right for it ends all sessions and tokens of a user (draft-ietf-oauth-global-token-revocation).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAdministration } from '../../domain/administration/administration.ts';
import type { Config } from '../../config.ts';
import { insufficientScope, invalidRequest, notFound, OAuthError } from '../../oauth/errors.ts';
import { globalRevocationScope, splitScope } from '../../oauth/scope.ts';
import { text } from '../../oauth/text.ts';
import type { Store } from '../../repositories/store.ts';
import { type ProtectedResource, requireAccessToken } from '../../sender-constraint/protected-resource.ts';
import { bearerErrors, noStore } from '../../server/errors.ts';
import { onlyJson } from '../../server/form-body.ts';
import { clientAddress } from '../../server/network.ts';

const identifier = z.discriminatedUnion('format', [
  z.strictObject({ format: z.literal('iss_sub'), iss: text(2000), sub: text(255) }),
  z.strictObject({ format: z.literal('email'), email: text(320) }),
]);
const body = z.object({ sub_id: z.looseObject({ format: z.string() }) });

type GlobalRevocationDependencies = ProtectedResource & {
  config: Pick<Config, 'issuer'>;
  store: Store;
};

/** The user whom a subject identifier names (RFC 9493 3.2.2, 3.2.4). Only this service's own subjects and confirmed addresses name one. */
async function userNamed(
  { users }: Pick<Store, 'users'>,
  issuer: string,
  given: z.infer<typeof identifier>,
): Promise<string | undefined> {
  if (Object.values(given).some((value) => value.includes('\0'))) return undefined;
  if (given.format === 'iss_sub') return given.iss === issuer ? (await users.find(given.sub))?.sub : undefined;
  const user = await users.findByEmail(given.email);
  return user?.emailVerified ? user.sub : undefined;
}

export async function globalRevocationEndpoint(
  app: FastifyInstance,
  options: GlobalRevocationDependencies,
): Promise<void> {
  const { config, store } = options;
  const administration = createAdministration(store);
  onlyJson(app);
  app.setErrorHandler(bearerErrors);

  app.post('/revoke-user', async (request, reply) => {
    const token = await requireAccessToken(options, request, reply);
    // the right is that of a client: a user who signs in never has it
    if (token.user || !splitScope(token.scope).includes(globalRevocationScope))
      throw insufficientScope(`this needs an access token of a client itself with the scope ${globalRevocationScope}`);
    const sent = body.safeParse(request.body);
    if (!sent.success) throw invalidRequest('send a JSON object with sub_id, a subject identifier (RFC 9493)');
    const known = identifier.safeParse(sent.data.sub_id);
    if (!known.success)
      throw new OAuthError('invalid_request', 'sub_id must have the format iss_sub or email, with its members', 422);
    const sub = await userNamed(store, config.issuer, known.data);
    if (sub === undefined) throw notFound('sub_id names no user of this service');
    await administration.endSessions({ actor: token.clientId, address: clientAddress(request) }, sub);
    return noStore(reply).code(204).send();
  });
}
