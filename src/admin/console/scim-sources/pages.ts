// Serves the console's pages about SCIM sources: those of every entity, a page of its own for one with its tokens, and the forms on it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mostScimTokens } from '../../../domain/administration/scim-sources.ts';
import { scimSources } from '../../../entities/scim-sources.ts';
import { invalidRequest } from '../../../oauth/errors.ts';
import { addScimToken, removeScimToken, scimSourceActs, scimSourcePage } from '../../operations/scim-sources.ts';
import type { Console } from '../admin-session.ts';
import { entityPages } from '../entity-pages.ts';
import { submittedForms } from '../submitted-form.ts';

const section = 'scim_sources';
const uriOf = (id: string) => `/admin/scim-sources/${encodeURIComponent(id)}`;
const tokensUri = (id: string) => `${uriOf(id)}/tokens`;
const removeUri = (id: string) => `${tokensUri(id)}/remove`;

export const scimSourcePages = entityPages(scimSources, scimSourceActs, {
  known: ({ id }) => id,
  async show(admin, source, uris) {
    const { id, name, status, connectionId, adopt, onDelete, groupPrefix, createdAt } = source;
    const { address, tokens } = await admin.run(scimSourcePage, source);
    return admin.send(
      'console-scim-source',
      {
        source: {
          id,
          name,
          isEnabled: status === 'enabled',
          address,
          ...(connectionId !== undefined && { connection: connectionId }),
          adopts: adopt === 'domain',
          deletes: onDelete === 'delete',
          groupPrefix,
          createdAt,
        },
        tokens: tokens.map(({ lastUsedAt, ...token }) => ({ ...token, ...(lastUsedAt && { lastUsedAt }) })),
        ...(tokens.length < mostScimTokens && { tokenForm: admin.form(tokensUri(id)) }),
        removeForm: admin.form(removeUri(id)),
        ...uris,
      },
      { section },
    );
  },
});

/** The forms on the page of a SCIM source. */
export async function scimSourceForms(app: FastifyInstance, { console }: { console: Console }): Promise<void> {
  const submitted = submittedForms(console);
  const idIn = (request: FastifyRequest) => (request.params as { scim_source: string }).scim_source;

  app.post('/admin/scim-sources/:scim_source/tokens', async (request, reply): Promise<FastifyReply> => {
    const id = idIn(request);
    const sent = await submitted(request, reply, tokensUri(id), addScimToken);
    if (!sent) return reply;
    const { admin } = sent;
    const { name } = await admin.run(scimSourceActs.show, { scim_source: id });
    const made = await admin.once(() => admin.run(addScimToken, { scim_source: id }));
    if ('refused' in made) return made.refused();
    const shown = { name, uri: uriOf(id), address: made.address, token: made.token };
    return admin.send('console-scim-token', shown, { section });
  });

  app.post('/admin/scim-sources/:scim_source/tokens/remove', async (request, reply): Promise<FastifyReply> => {
    const id = idIn(request);
    const sent = await submitted(request, reply, removeUri(id), removeScimToken);
    if (!sent) return reply;
    const { admin, body } = sent;
    if (!body['token']) throw invalidRequest('the form names no token');
    await admin.run(removeScimToken, { scim_source: id, token: body['token'] });
    return admin.done(uriOf(id), 'scim_token-removed');
  });
}
