// Declares an administrative operation: one value that makes a route, its entry in the OpenAPI document, commands, and errors of console forms.
import { maxClientId } from '../../oauth/client-document.ts';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { PasswordHashing } from '../../crypto/password-hashing.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { Administration } from '../../domain/administration/administration.ts';
import type { AppearanceService } from '../../domain/appearance/appearance.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import type { PasswordPolicy } from '../../domain/passwords/password-policy.ts';
import { transferFormats } from '../../domain/users/user-records.ts';
import type { SamlKeys } from '../../domain/keys/saml-keys.ts';
import type { ConnectionKinds } from '../../domain/connections/kinds.ts';
import type { CheckSector } from '../../domain/client-documents/sector-check.ts';
import type { Entity } from '../../entities/entity.ts';
import { type Act, isPermitted, type Permission } from '../../entities/permission.ts';
import { firstRefusal } from '../../oauth/refusals.ts';
import { insufficientScope, invalidRequest } from '../../oauth/errors.ts';
import type { JsonLimits } from '../../oauth/json-text.ts';
import { text } from '../../oauth/text.ts';
import type { Directories } from '../../outbound/directories.ts';
import type { GuardedFetch } from '../../outbound/guarded-fetch.ts';
import type { Letter, MailTransport } from '../../outbound/mail-transport.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Store } from '../../repositories/store.ts';
import type { KeyRing } from '../../tokens/key-ring.ts';
import type { AnswerName } from './answers.ts';

/** The dependencies of handlers. */
export interface OperationContext {
  config: Config;
  store: Store;
  administration: Administration;
  clients: Pick<ClientCache, 'forget'>;
  secretBox: SecretBox;
  passwords: Pick<PasswordHashing, 'hash'>;
  passwordPolicy: PasswordPolicy;
  checkSector: CheckSector;
  fetchDocument: GuardedFetch;
  samlKeys: SamlKeys;
  connectionKinds: ConnectionKinds;
  directories: Directories;
  /** The service has opened the key ring; a command opens it only for an operation that needs it. */
  keyRing(): Promise<KeyRing>;
  /** As with the key ring: the stored part is read. */
  appearance(): Promise<AppearanceService>;
  limits: Pick<Limits, 'consume'>;
  mailTransport: MailTransport;
  /** Composes the test mail from the templates; a command has none, and sends a plain one. */
  composeTestMail?(languages: string | undefined): Omit<Letter, 'id' | 'to'>;
}

/** Who runs an operation. @param kind is a key of `administratorKinds`, and decides what the operation may be */
export interface Administrator extends Actor {
  kind: string;
}

/** One call of an operation: the parameters of its path, its input, and its actor. */
export interface OperationCall<P = unknown, I = unknown> {
  params: P;
  input: I;
  actor: Administrator;
}

/** The exit code of a command: it did everything (0), not everything (1), or found differences or a fault (2). */
export type Exit = 0 | 1 | 2;

/** A command of the command line that runs an operation. Path parameters are its arguments; `sub` is typed as a user name. */
export interface OperationCommand<P = unknown, I = unknown, R = unknown> {
  /** Such as `user disable`. */
  name: string;
  /** The operation's summary, unless given. */
  summary?: string;
  /** Fields of the input by the names of their options; without it each field has an option of its name. */
  options?: Record<string, string>;
  /** Fields of the input that are arguments, after those of the path; an optional one takes all further words. */
  arguments?: readonly string[];
  /** Fields that are required by the command but not by the operation. */
  required?: readonly string[];
  /** How fields are typed if not as their rule suggests: as JSON, or as the name of a file with JSON or with a text. */
  forms?: Readonly<Record<string, 'json' | 'json-file' | 'text-file'>>;
  /** Fields of name=value that are merged into the present ones, where null removes one. */
  merged?: readonly string[];
  /** Completes the typed values, by the names of the fields, before they are checked. */
  prepare?(given: Record<string, unknown>): Record<string, unknown>;
  /** Items of a list, if the option --limit is not given. */
  limit?: number;
  /** The result as text for the operator. @param call with the typed arguments, by the names of their fields */
  text(result: R, call: OperationCall<P, I> & { typed: Record<string, string>; config: Config }): string;
  /** The exit code, if it is not always 0. */
  code?(result: R): Exit;
  /** The result for `--json`; the operation's view of it, unless given. */
  json?(result: R, call: OperationCall<P, I> & { typed: Record<string, string> }): unknown;
}

export interface Operation<P = unknown, I = unknown, R = unknown> {
  permission: Permission;
  /** To read for a GET, else to change: a test of a connection changes nothing, but sends its password to another server. */
  act: Act;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the issuer, with parameters as `:name`. */
  path: string;
  /** The entity of which it is, if that declaration made it. */
  of: Entity | undefined;
  tag: string;
  summary: string;
  /**
   * Whether an administrator must have signed in recently (security R91): to change permissions, to see a secret, or to export the data of
   * all users. True for every operation but reading, and but those that only end something, which must never wait.
   */
  needsRecentSignIn: boolean;
  params: z.ZodObject | undefined;
  /** The query of a GET and of an upload, the JSON body of any other request. */
  input: ((config: Pick<Config, 'passwordMinLength'>) => z.ZodType) | undefined;
  /** The input as the document and the commands show it, if the handler checks more than `input` does. */
  documentedInput: z.ZodType | undefined;
  /** Bytes that a body may have, if more than usual. */
  bodyLimit: number | undefined;
  /** Milliseconds that the operation may take, if more than other requests. */
  timeout: number | undefined;
  /** Levels and members that a JSON body may have, if more than usual: what the declaration of the input can hold. */
  json: JsonLimits | undefined;
  /** Fields of the input that only commands and the console may set. */
  internalInput: z.ZodObject | undefined;
  status: 200 | 201 | 204;
  /** The schema of the answer; undefined if the answer has no body. */
  answer: AnswerName | undefined;
  /** Media types of a body and an answer that are not JSON: `input.file` holds the body, and the handler returns a `TextAnswer`. */
  media: { body: readonly string[]; answer: readonly string[] } | undefined;
  commands: readonly OperationCommand<P, I, R>[];
  handler(context: OperationContext, call: OperationCall<P, I>): Promise<R>;
  /** The result as JSON. */
  view(result: R): unknown;
  /** What a PATCH changes, as it is shown now; undefined if a GET of the same path shows it. */
  shown?(context: OperationContext, params: P): Promise<object | undefined>;
}

/** A file that a request sent as its body. */
export interface UploadedFile {
  content: Buffer;
  type: string;
}

/** An answer that is sent in parts. */
export interface TextAnswer {
  type: string;
  text: AsyncIterable<string>;
}

type InputOf<I extends z.ZodType, C extends z.ZodObject> = z.infer<I> &
  ([keyof C['shape']] extends [never] ? unknown : Partial<z.infer<C>>);

/** Declares an operation whose handler gets the parsed values of its schemas. */
export function operation<
  R,
  P extends z.ZodObject = z.ZodObject,
  I extends z.ZodType = z.ZodObject,
  C extends z.ZodObject = z.ZodObject<Record<never, never>>,
>(
  definition: Pick<Operation, 'permission' | 'method' | 'path' | 'tag' | 'summary'> &
    Partial<
      Pick<
        Operation,
        | 'of'
        | 'needsRecentSignIn'
        | 'documentedInput'
        | 'bodyLimit'
        | 'timeout'
        | 'json'
        | 'status'
        | 'answer'
        | 'media'
      >
    > & {
      params?: P;
      input?: (config: Pick<Config, 'passwordMinLength'>) => I;
      internalInput?: C;
      handler(context: OperationContext, call: OperationCall<z.infer<P>, InputOf<I, C>>): Promise<R>;
      view?(result: R): unknown;
      shown?(context: OperationContext, params: z.infer<P>): Promise<object | undefined>;
      command?: OperationCommand<z.infer<P>, InputOf<I, C>, R> | OperationCommand<z.infer<P>, InputOf<I, C>, R>[];
    },
): Operation<z.infer<P>, InputOf<I, C>, R> {
  const { command = [], answer, media } = definition;
  return {
    ...definition,
    of: definition.of,
    act: definition.method === 'GET' ? 'read' : 'change',
    needsRecentSignIn: definition.needsRecentSignIn ?? definition.method !== 'GET',
    params: definition.params,
    input: definition.input,
    documentedInput: definition.documentedInput,
    bodyLimit: definition.bodyLimit,
    timeout: definition.timeout,
    json: definition.json,
    internalInput: definition.internalInput,
    status: definition.status ?? (answer === undefined && !media ? 204 : 200),
    answer,
    media,
    commands: [command].flat(),
    view: definition.view ?? ((result) => result),
  };
}

/** Refuses an administrator who lacks the permission. @throws OAuthError insufficient_scope */
export function demandPermission(of: Pick<Operation, 'permission' | 'act'>, { kind }: Administrator): void {
  if (!isPermitted(kind, of.permission, of.act))
    throw insufficientScope(`this administrator may not ${of.act} the section ${of.permission}`);
}

/** What run() needs to know of an operation. */
export type Runnable<P, I, R> = Pick<Operation<P, I, R>, 'permission' | 'act' | 'handler'>;

/** Declares what a page of the console reads or changes beside the operations of the API: without a route, an entry in the document and a command. */
export const pageOperation = <P, R>(
  permission: Permission,
  act: Act,
  handler: (context: OperationContext, params: P, actor: Administrator) => Promise<R>,
): Runnable<P, unknown, R> => ({
  permission,
  act,
  handler: (context, { params, actor }) => handler(context, params, actor),
});

/** Whether the input is a JSON body; otherwise it is the query. */
export const takesBody = ({ method, media }: Pick<Operation, 'method' | 'media'>): boolean =>
  (method === 'POST' || method === 'PATCH') && !media;

/** Parses the body by its schema; no body counts as an empty object. @throws OAuthError invalid_request */
export function readBody<S extends z.ZodType>(schema: S, body: unknown): z.infer<S> {
  const parsed = schema.safeParse(body === undefined ? {} : body, { reportInput: true });
  if (!parsed.success)
    throw invalidRequest(
      body === undefined ? 'the body is missing: send a JSON object' : firstRefusal(parsed.error, 'the body'),
    );
  return parsed.data;
}

/** Checks input that comes from a command or the console: it may also have the fields of `internalInput`. */
export function checkInput(
  { input, internalInput }: Pick<Operation, 'input' | 'internalInput'>,
  given: Record<string, unknown>,
  config: Config,
): { input: object; error?: never } | { error: z.ZodError } {
  const internal = new Set(Object.keys(internalInput?.shape ?? {}));
  const part = (inside: boolean) =>
    Object.fromEntries(Object.entries(given).filter(([name]) => internal.has(name) === inside));
  const outer = (input?.(config) ?? z.object({})).safeParse(part(false), { reportInput: true });
  const inner = (internalInput?.partial() ?? z.object({})).safeParse(part(true), { reportInput: true });
  const error = outer.error ?? inner.error;
  return error ? { error } : { input: { ...(outer.data as object), ...inner.data } };
}

/** The format of an exported file; a command also derives it from the name of the file. */
export const fileFormat = z
  .enum(transferFormats)
  .default('jsonl')
  .describe('CSV with a header line, or JSON with one object on each line.');

export const byId = z.object({ id: text(maxClientId) });
export const bySub = z.object({ sub: text(255) });
