// Runs a page of the service in a frame of another site: its scripts see only the cookies that a browser lets a third party see.
import { createContext, runInContext } from 'node:vm';
import { expect } from 'vitest';
import type { Browser } from './browser.ts';
import { patience } from '../../helpers/limits.ts';
import { inlineScripts, Policy } from './html.ts';
import { mediaType, type Network } from './network.ts';

interface Message {
  data: string;
  origin: string;
  source: { postMessage(data: unknown, target: string): void };
}

export interface Frame {
  /** Posts a message from a page of the origin. @returns the first answer and the origin to which it is addressed */
  ask(data: string, origin: string): Promise<{ answer: unknown; target: string }>;
}

/** Opens the page in a frame of the parent's; fails if its headers forbid that. */
export async function openFrame(network: Network, browser: Browser, address: string, parent: string): Promise<Frame> {
  const page = await network.send(address);
  expect(page.status).toBe(200);
  expect(mediaType(page)).toBe('text/html');
  expect(page.headers.get('x-frame-options')).toBeNull();
  const own = new URL(address).origin;
  const policy = new Policy(page.headers.get('content-security-policy'), own);
  const ancestors = policy.directives.get('frame-ancestors') ?? ['*'];
  expect(ancestors.some((source) => source === '*' || source === new URL(parent).origin)).toBe(true);

  const listeners: ((event: Message) => void)[] = [];
  const window: Record<string, unknown> = {
    crypto,
    TextEncoder,
    btoa,
    atob,
    location: new URL(address),
    document: {
      get cookie() {
        return browser.cookiesOfFrame(address);
      },
    },
    addEventListener: (type: string, listener: (event: Message) => void) =>
      type === 'message' ? void listeners.push(listener) : undefined,
  };
  for (const name of ['window', 'self', 'globalThis']) window[name] = window;
  const context = createContext(window);
  for (const script of inlineScripts(page.body)) {
    expect(policy.allowsInline(script), 'the policy lets the script run').toBe(true);
    runInContext(script, context);
  }
  return {
    ask: (data, origin) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error('the frame does not answer')), patience);
        const postMessage = (answer: unknown, target: string) => {
          clearTimeout(late);
          resolve({ answer, target });
        };
        for (const listener of listeners) listener({ data, origin, source: { postMessage } });
      }),
  };
}
