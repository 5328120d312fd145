// Serves the metadata of the service's own protected resources at the root of its origin (RFC 9728).
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config.ts';
import { offersCertificates } from '../../oauth/certificate-settings.ts';
import { dpopAlgorithms } from '../../oauth/dpop-proof.ts';
import { resourceMetadata } from '../../oauth/resource-metadata.ts';
import { registrableScopes } from '../../oauth/scope.ts';
import { jsonErrors } from '../../server/errors.ts';
import type { TokenService } from '../../tokens/token-service.ts';

/** A resource of the service: its path below the issuer, and the scopes that give access to it. */
interface OwnApi {
  path: string;
  scopes: readonly string[];
}

/** One line for each resource; src/oauth/own-resource.ts decides which addresses belong to it. */
export const ownApis: OwnApi[] = [
  { path: '', scopes: registrableScopes() },
  { path: '/user/info', scopes: registrableScopes() },
  { path: '/admin/api', scopes: ['admin'] },
];

const wellKnown = '/.well-known/oauth-protected-resource';
const cacheControl = 'public, max-age=300';

/** The paths of the documents: the well-known part comes before the path of the issuer (RFC 9728 3.1). */
export const protectedResourcePaths = (basePath: string): string[] =>
  ownApis.map(({ path }) => wellKnown + basePath + path);

interface ProtectedResourceDependencies {
  config: Pick<Config, 'issuer' | 'basePath' | 'mtls'>;
  tokens: Pick<TokenService, 'signedMetadata'>;
}

export async function protectedResourceEndpoint(
  app: FastifyInstance,
  { config, tokens }: ProtectedResourceDependencies,
): Promise<void> {
  const { issuer, basePath } = config;
  for (const { path, scopes } of ownApis) {
    const document = {
      ...resourceMetadata(issuer, { resource: issuer + path, scopes, certificates: offersCertificates(config) }),
      dpop_signing_alg_values_supported: dpopAlgorithms,
    };
    const signedMetadata = tokens.signedMetadata(() => document);
    app.get(wellKnown + basePath + path, { errorHandler: jsonErrors, exposeHeadRoute: true }, async (_request, reply) =>
      reply
        .header('cache-control', cacheControl)
        .type('application/json; charset=utf-8')
        .send(JSON.stringify({ ...document, signed_metadata: await signedMetadata() })),
    );
  }
}
