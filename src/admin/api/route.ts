// One admin route as a value: what it takes, what it answers with, and what it does; registered and documented from this alone.
import { z } from 'zod';
import { text } from '../../server/parameters.ts';
import type { PasswordQueue } from '../../domain/rate-limits/password-queue.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { PasswordPolicy } from '../../domain/password-policy.ts';
import type { CheckSector } from '../../domain/sector-check.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Store } from '../../repositories/store.ts';
import type { KeyRing } from '../../tokens/key-ring.ts';
import type { Config } from '../../config.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { firstRefusal } from '../../oauth/refusals.ts';
import type { Administration } from '../../domain/administration/administration.ts';
import type { AnswerName } from './answers.ts';
import type { Actor } from '../../repositories/audit/actor.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** What handlers work with. */
export interface AdminApiDependencies {
  config: Config;
  store: Store;
  clients: ClientCache;
  keyRing: KeyRing;
  secretBox: SecretBox;
  passwords: PasswordQueue;
  passwordPolicy: PasswordPolicy;
  checkSector: CheckSector;
}
export type AdminParts = AdminApiDependencies & { administration: Administration };

export interface AdminRoute {
  method: Method;
  /** Below the issuer, with parameters as `:name`. */
  path: string;
  summary: string;
  tag: string;
  /**
   * Whether a person must have shown the password lately (security R91): to give or take power, to see a secret, or to take everybody's
   * data along. True for everything but reading, unless the route says that it only ends what somebody has, which must never wait.
   */
  dangerous: boolean;
  params: z.ZodObject | undefined;
  query: z.ZodObject | undefined;
  body: ((config: Config) => z.ZodType) | undefined;
  /** What the document shows as the body where the handler checks more than `body` does. */
  documentedBody: z.ZodType | undefined;
  status: 200 | 201 | 204;
  /** Undefined where the answer has no body. */
  answer: AnswerName | undefined;
  /**
   * Media types of a body and an answer that are not JSON: the handler gets `{ content: Buffer, type }` as the body, and returns a `TextAnswer`.
   */
  media: { body: readonly string[]; answer: readonly string[] } | undefined;
  /** @param input the parsed parameters of the path and the query, and the parsed body */
  handle(parts: AdminParts, input: { params: unknown; query: unknown; body: unknown; by: Actor }): unknown;
}

/** An answer that is sent in parts. */
export interface TextAnswer {
  type: string;
  text: AsyncIterable<string>;
}

/** A route whose handler gets what its schemas parse. */
export function adminRoute<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodType = z.ZodObject,
>(route: {
  method: Method;
  path: string;
  summary: string;
  tag: string;
  dangerous?: boolean;
  params?: P;
  query?: Q;
  body?: (config: Config) => B;
  documentedBody?: z.ZodType;
  status?: 200 | 201 | 204;
  answer?: AnswerName;
  media?: AdminRoute['media'];
  handle(
    parts: AdminParts,
    input: { params: z.infer<P>; query: z.infer<Q>; body: z.infer<B>; by: Actor },
  ): Promise<unknown>;
}): AdminRoute {
  return {
    ...route,
    dangerous: route.dangerous ?? route.method !== 'GET',
    params: route.params,
    query: route.query,
    body: route.body,
    documentedBody: route.documentedBody,
    status: route.status ?? (route.answer === undefined && !route.media ? 204 : 200),
    answer: route.answer,
    media: route.media,
    handle: route.handle as AdminRoute['handle'],
  };
}

/** The body by its schema; none is an empty one. @throws OAuthError invalid_request */
export function readBody<S extends z.ZodType>(schema: S, body: unknown): z.infer<S> {
  const parsed = schema.safeParse(body === undefined ? {} : body, { reportInput: true });
  if (!parsed.success)
    throw invalidRequest(
      body === undefined ? 'the body is missing: send a JSON object' : firstRefusal(parsed.error, 'the body'),
    );
  return parsed.data;
}

export const byId = z.object({ id: text(255) });
