// Finds the types of the authorization details that a request asks for, and checks each object by its type (RFC 9396 5, security R142).
import type { AuthorizationDetailsType } from '../entities/authorization-details-types.ts';
import type { Detail } from '../oauth/authorization-details.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Repositories } from '../repositories/store.ts';
import { checkDetails, readDetails, resourcesOf, typesOf } from '../rules/details/details.ts';
import { findTargets, type Target, type TargetRequest } from './audience.ts';

/** An object that a request asks for, with its type. */
export interface AskedDetail {
  detail: Detail;
  type: AuthorizationDetailsType;
}

/**
 * Reads the parameter. Only a request that has it reads the types.
 * @throws OAuthError invalid_authorization_details
 */
export async function findDetails(
  { authorizationDetailsTypes }: Pick<Repositories, 'authorizationDetailsTypes'>,
  { metadata }: Pick<Client, 'metadata'>,
  parameter: string,
): Promise<AskedDetail[]> {
  return checkedDetails({ authorizationDetailsTypes }, { metadata }, readDetails(parameter));
}

/** The same for objects that were read before. */
export async function checkedDetails(
  { authorizationDetailsTypes }: Pick<Repositories, 'authorizationDetailsTypes'>,
  { metadata }: Pick<Client, 'metadata'>,
  details: readonly Detail[],
): Promise<AskedDetail[]> {
  const types = await authorizationDetailsTypes.enabled(typesOf(details));
  return checkDetails(details, types, metadata.authorization_details_types);
}

/**
 * The resources of a request with details. If it names none, those of its details are added to those of its scope.
 * @throws OAuthError invalid_target, invalid_scope
 */
export function findTargetsOf(
  store: Pick<Repositories, 'resources'>,
  issuer: string,
  request: TargetRequest,
  details: readonly AskedDetail[],
): Target[] | Promise<Target[]> {
  const resources = details.flatMap(({ detail, type }) => resourcesOf(detail, type));
  return request.resource !== undefined || resources.length === 0
    ? findTargets(store, issuer, request)
    : findAllTargets(store, issuer, request, resources);
}

async function findAllTargets(
  store: Pick<Repositories, 'resources'>,
  issuer: string,
  request: TargetRequest,
  resources: readonly string[],
): Promise<Target[]> {
  const targets = await findTargets(store, issuer, request);
  const named = [...targets.flatMap(({ audience: [uri] }) => uri ?? []), ...resources];
  return findTargets(store, issuer, { ...request, resource: named.join(' ') });
}

/** The levels that the types demand. */
export const detailAcrs = (details: readonly AskedDetail[]): string[] =>
  details.flatMap(({ type }) => type.requiredAcr ?? []);
