// Lists the kinds of client, in the order in which the console offers them.
import { api } from './api.ts';
import type { ClientKind } from './client-kind.ts';
import { device } from './device.ts';
import { machine } from './machine.ts';
import { native } from './native.ts';
import { spa } from './spa.ts';
import { web } from './web.ts';

export const clientKinds: ClientKind[] = [web, spa, native, device, machine, api];

export const findKind = (name: string | undefined): ClientKind | undefined =>
  clientKinds.find((kind) => kind.name === name);
