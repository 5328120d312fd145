// Serves GET /saml/metadata, by which SAML applications know this identity provider (SAML Metadata 2.4.3).
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config.ts';
import type { SamlKeys } from '../../domain/keys/saml-keys.ts';
import { offeredFormats } from '../../rules/saml/name-id.ts';
import { identityProviderMetadata } from '../../saml/metadata.ts';
import { samlEntityId, samlPaths } from '../../rules/saml/addresses.ts';

interface SamlMetadataDependencies {
  config: Config;
  samlKeys: SamlKeys;
}

export async function samlMetadataEndpoint(
  app: FastifyInstance,
  { config, samlKeys }: SamlMetadataDependencies,
): Promise<void> {
  const { issuer } = config;
  app.get(samlPaths.metadata, async (_request, reply) => {
    const keys = await samlKeys.published();
    const metadata = identityProviderMetadata({
      entityId: samlEntityId(issuer),
      signing: keys.map(({ certificate }) => certificate),
      signOnUri: issuer + samlPaths.signOn,
      logoutUri: issuer + samlPaths.logout,
      nameIdFormats: offeredFormats,
    });
    return (
      reply
        // a new key is published before it signs
        .header('cache-control', 'public, max-age=300')
        .type('application/samlmetadata+xml; charset=utf-8')
        .send(metadata)
    );
  });
}
