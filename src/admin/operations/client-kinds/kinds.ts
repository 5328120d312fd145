// Lists the kinds of client, in the order in which the console offers them.
import { deviceGrant } from '../../../oauth/registrable-values.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import { api } from './api.ts';
import type { ClientKind } from './client-kind.ts';
import { device } from './device.ts';
import { machine } from './machine.ts';
import { native } from './native.ts';
import { proxy } from './proxy.ts';
import { saml } from './saml.ts';
import { spa } from './spa.ts';
import { web } from './web.ts';

export const clientKinds: ClientKind[] = [web, spa, native, device, machine, api, proxy, saml];

export const findKind = (name: string | undefined): ClientKind | undefined =>
  clientKinds.find((kind) => kind.name === name);

/** The kind that a client is by its metadata, however it was created. */
export function kindOfClient({ kind, metadata }: Pick<Client, 'kind' | 'metadata'>): ClientKind {
  const other = kind !== 'oauth' && clientKinds.find(({ stored }) => stored === kind);
  if (other) return other;
  const { grant_types: grants, redirect_uris: uris, resource_uris: resources = [] } = metadata;
  if (uris.length === 0) {
    if (grants.includes(deviceGrant)) return device;
    return resources.length > 0 ? api : machine;
  }
  const isPublic = metadata.token_endpoint_auth_method === 'none';
  if (metadata.application_type === 'native' || uris.every((uri) => isOfDevice(uri, isPublic))) return native;
  return isPublic ? spa : web;
}

/** A scheme of its own, or the loopback without a secret (RFC 8252 7). An application server with a secret can be on the same machine. */
const isOfDevice = (uri: string, isPublic: boolean): boolean =>
  !/^https?:/.test(uri) || (isPublic && /^http:\/\/(127\.|\[::1\])/.test(uri));
