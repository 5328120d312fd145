// Writes the answers of SCIM: resources with their addresses and versions, lists, and refusals (RFC 7644 3.4.2, 3.12, 3.14).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ScimSource } from '../../entities/scim-sources.ts';
import { groupResource } from '../../domain/scim/groups.ts';
import { resourceOf } from '../../domain/scim/users.ts';
import type { ScimGroup } from '../../repositories/scim/scim-groups.ts';
import type { ScimUser } from '../../repositories/scim/scim-users.ts';
import { ScimError } from '../../rules/scim/errors.ts';
import type { Values } from '../../rules/scim/resource.ts';
import { groupSchemaId, userSchemaId } from '../../rules/scim/schemas.ts';
import { bearerChallenge, logRefusal, noStore, resourceChallengeOf, toOAuthError } from '../../server/errors.ts';

export const scimType = 'application/scim+json; charset=utf-8';

export const baseOf = (issuer: string, { id }: Pick<ScimSource, 'id'>): string => `${issuer}/scim/v2/${id}`;

/** A user whom an administrator disabled is another representation of the same version. */
export const versionOf = ({ version, active = true }: { version: number; active?: boolean }): string =>
  `W/"${version}${active ? '' : '-disabled'}"`;

export function userView(base: string, user: ScimUser): Values {
  const resource = resourceOf(user);
  const extensions = Object.keys(resource).filter((name) => name.startsWith('urn:'));
  return {
    schemas: [userSchemaId, ...extensions],
    id: user.sub,
    ...resource,
    ...(user.groups.length > 0 && {
      groups: user.groups.map(({ id, name }) => ({ value: id, $ref: `${base}/Groups/${id}`, display: name })),
    }),
    meta: metaOf('User', `${base}/Users/${user.sub}`, user, versionOf(user)),
  };
}

export const groupView = (base: string, group: ScimGroup): Values => ({
  schemas: [groupSchemaId],
  id: group.id,
  ...groupResource(group),
  ...(group.members.length > 0 && {
    members: group.members.map((sub) => ({ value: sub, $ref: `${base}/Users/${sub}`, type: 'User' })),
  }),
  meta: metaOf('Group', `${base}/Groups/${group.id}`, group, versionOf({ version: group.version })),
});

const metaOf = (
  resourceType: string,
  location: string,
  { createdAt, updatedAt }: { createdAt: Date; updatedAt: Date },
  version: string,
) => ({
  resourceType,
  created: createdAt.toISOString(),
  lastModified: updatedAt.toISOString(),
  location,
  version,
});

export const listView = (resources: readonly Values[], totalResults: number, startIndex: number): Values => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
});

export const send = (reply: FastifyReply, status: number, body: Values): FastifyReply =>
  reply.code(status).type(scimType).send(body);

/** The error handler: refusals of SCIM, and of everything before it, in the form of RFC 7644 3.12. */
export function scimErrors(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isScim = error instanceof ScimError;
  const refused = isScim ? undefined : toOAuthError(error);
  const status = isScim ? error.status : refused!.status;
  noStore(reply);
  if (refused) {
    const reference = logRefusal(refused, request);
    reply.headers(refused.headers);
    if (status >= 500) return send(reply, status, bodyOf(status, `${refused.description} (reference ${reference})`));
  } else request.log.info({ status, description: (error as Error).message }, 'request refused');
  if (status === 401)
    reply.header('www-authenticate', refused ? resourceChallengeOf(refused, request) : bearerChallenge);
  const scim = isScim ? error.scimType : status === 400 ? 'invalidSyntax' : undefined;
  return send(reply, status, bodyOf(status, isScim ? error.message : refused!.description, scim));
}

const bodyOf = (status: number, detail: string, scim?: string): Values => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: String(status),
  ...(scim !== undefined && { scimType: scim }),
  detail,
});
