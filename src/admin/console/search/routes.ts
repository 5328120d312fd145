// Serves GET /admin/search: finds users, clients and groups, and redirects to the only match.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { singleValued } from '../../../server/parameters.ts';
import type { FoundThing } from '../../../pages/views/console-search.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import type { Group } from '../../../entities/groups.ts';
import type { User } from '../../../repositories/users/users.ts';
import { listGroups } from '../../operations/groups.ts';
import { findClients } from '../../operations/pages/clients.ts';
import { findRefusal } from '../../operations/pages/refusals.ts';
import { findUsers } from '../../operations/pages/users.ts';
import type { PageResponses } from '../../../pages/page-response.ts';
import { isPermitted } from '../../../entities/permission.ts';
import type { AdminSession, Console } from '../admin-session.ts';

/** How many results of each kind the page shows; the list of that kind has all. */
const maxShown = 8;
const maxQuery = 255; // characters
const isReference = /^[0-9a-f]{8}$/i;

interface ConsoleSearchDependencies {
  pages: PageResponses;
  console: Console;
}

export async function consoleSearchEndpoint(
  app: FastifyInstance,
  { console, pages }: ConsoleSearchDependencies,
): Promise<void> {
  const show = async (admin: AdminSession, request: FastifyRequest, reply: FastifyReply) => {
    const q = singleValued(request.query)['q']?.replaceAll('\0', '').trim().slice(0, maxQuery) ?? '';
    // the reference of a page that refused
    if (isReference.test(q) && isPermitted(admin.by.kind, findRefusal.permission, findRefusal.act)) {
      const reference = q.toLowerCase();
      if (await admin.run(findRefusal, reference)) return pages.redirect(reply, `/admin/why/${reference}`);
    }
    const limit = maxShown + 1;
    const page = { limit, after: undefined };
    const [users, clients, { groups }] =
      q === ''
        ? [[], [], { groups: [] }]
        : await Promise.all([
            admin.run(findUsers, { words: q, limit }),
            admin.run(findClients, { filter: { search: q }, page }),
            admin.run(listGroups, {}, { q, limit }),
          ]);
    const query = new URLSearchParams({ q });
    const kinds = [
      { kind: 'users' as const, things: users.map(userThing), listUri: `/admin/users?${query}` },
      { kind: 'clients' as const, things: clients.map(clientThing), listUri: `/admin/clients?${query}` },
      { kind: 'groups' as const, things: groups.map(groupThing), listUri: `/admin/groups?${query}` },
    ];
    const [only, another] = kinds.flatMap(({ things }) => things);
    if (only && !another) return pages.redirect(reply, only.uri);
    return admin.send(
      'console-search',
      {
        searched: q,
        isReference: isReference.test(q),
        kinds: kinds
          .filter(({ things }) => things.length > 0)
          .map(({ things, ...kind }) => ({
            ...kind,
            things: things.slice(0, maxShown),
            more: things.length > maxShown,
          })),
      },
      { section: 'search' },
    );
  };

  console.page(app, '/admin/search', show, { needs: findUsers });
}

function userThing({ sub, username, email, claims, status }: User): FoundThing {
  const about = [typeof claims['name'] === 'string' ? claims['name'] : '', email ?? ''].filter((text) => text !== '');
  return { name: username, about, off: status === 'disabled', uri: `/admin/users/${encodeURIComponent(sub)}` };
}

function clientThing({ clientId, metadata, status }: Client): FoundThing {
  return {
    name: displayName(clientId, metadata),
    about: metadata.client_name === undefined ? [] : [clientId],
    off: status === 'disabled',
    uri: `/admin/clients/${encodeURIComponent(clientId)}`,
  };
}

function groupThing({ name, description }: Group): FoundThing {
  const about = description === '' ? [] : [description];
  return { name, about, off: false, uri: `/admin/groups/${encodeURIComponent(name)}` };
}
