// Serves the console's pages about resources: those of every entity, and a page of its own for one.
import { resources } from '../../../entities/resources.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { clientPath } from '../../client-review.ts';
import { resourceActs, resourcePage, resourceUses } from '../../operations/resources.ts';
import { entityPages } from '../entity-pages.ts';

export const resourcePages = entityPages(resources, resourceActs, {
  known: ({ resource }) => resource,
  related: ['exchange_policies', 'trusted_issuers', 'connected_servers', 'authorization_details_types'],
  uses: (admin, ids) => admin.run(resourceUses, ids),
  async show(admin, resource, uris) {
    const { accessTokenLifetime, requiredAcr } = resource;
    const { uri, document, server } = await admin.run(resourcePage, resource);
    return admin.send(
      'console-resource',
      {
        resource: {
          name: resource.name,
          resource: resource.resource,
          createdAt: resource.createdAt,
          registered: resource.registered,
          ...(resource.accessTokenFormat === 'jwt' && { jwtAlg: resource.accessTokenSigningAlg }),
          open: resource.clients === 'approved',
          binding: resource.binding,
          scopes: Object.entries(resource.scopes).map(([value, description]) => ({ value, description })),
          ...(accessTokenLifetime !== undefined && { accessTokenLifetime }),
          ...(requiredAcr !== undefined && { requiredAcr }),
          tokenClaims: resource.tokenClaims,
          public: resource.public,
        },
        ...(uri !== undefined && { metadata: { uri, document: JSON.stringify(document, null, 2) } }),
        ...(server && {
          server: { name: displayName(server.clientId, server.metadata), uri: clientPath(server.clientId) },
        }),
        ...uris,
      },
      { section: 'resources' },
    );
  },
});
