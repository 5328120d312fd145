// Turns an operation into a command: its usage, its help, and its run.
import type { z } from 'zod';
import {
  checkInput,
  type Operation,
  type OperationCall,
  type OperationCommand,
  type OperationContext,
  type TextAnswer,
} from '../admin/operations/operation.ts';
import { run } from '../admin/operations/run.ts';
import type { Config } from '../config.ts';
import { createPasswordHashing } from '../crypto/password-hashing.ts';
import { createAppearance } from '../domain/appearance/appearance.ts';
import { createPasswordPolicy } from '../domain/passwords/password-policy.ts';
import { createSamlKeys } from '../domain/keys/saml-keys.ts';
import { createConnectionKinds } from '../domain/connections/kinds.ts';
import { createLimits } from '../domain/rate-limits/rate-limits.ts';
import { createSectorCheck } from '../domain/client-documents/sector-check.ts';
import { firstRefusal } from '../oauth/refusals.ts';
import { invalidRequest } from '../oauth/errors.ts';
import { createDirectories } from '../outbound/directories.ts';
import { createGuardedExchange, createGuardedFetch } from '../outbound/guarded-fetch.ts';
import { createMailTransport, type MailTransport } from '../outbound/mail-transport.ts';
import { openKeyRing } from '../tokens/key-ring.ts';
import {
  by,
  type Command,
  type Context,
  findUser,
  type Output,
  parse,
  type Terminal,
  UsageError,
  withDatabase,
} from './command.ts';
import { formatOf, writeText } from './file.ts';
import { type Field, fieldsOf, optionOf, parserOptions, placeholderOf, readFields } from './options.ts';
import { emptiable, emptyValues, unsetHelp } from './unset.ts';

/** The number of items of a list, if neither the command nor the administrator sets it. */
const defaultLimit = 1000;

export async function renderCommand(operation: Operation, command: OperationCommand): Promise<Command> {
  const fields = fieldsOf(operation, command);
  const options = fields.filter(({ option }) => option !== undefined);
  const inPath = [...operation.path.matchAll(/:(\w+)/g)].map((match) => match[1]!);
  const isFile = operation.media !== undefined;
  const canEmpty = await emptiable(operation, fields);
  const unset = canEmpty.length > 0 ? [unsetHelp(canEmpty)] : [];
  const mustHave = (field: Field) => field.required && !canEmpty.includes(field);
  const names = [
    ...inPath.map((name) => (name === 'sub' ? 'NAME' : name.toUpperCase())),
    ...fields.filter(({ option }) => option === undefined).map((field) => argumentOf(field, inPath, !mustHave(field))),
    ...(isFile ? ['[FILE]'] : []),
  ];
  return {
    usage: [
      ...names,
      ...options.map((field) => (mustHave(field) ? optionOf(field) : `[${optionOf(field)}]`)),
      ...unset.map(([option]) => `[${option}]`),
    ].join(' '),
    summary: `${command.summary ?? operation.summary}.`,
    options: [...options.map((field) => [optionOf(field), field.help] as const), ...unset],
    async run(shell, args, terminal): Promise<Output> {
      const { values, positionals } = parse(args, parserOptions(fields, unset.length > 0), names);
      const typed: Record<string, string> = Object.fromEntries(
        inPath.map((name, index) => [name, positionals[index]!] as const),
      );
      const words = positionals.slice(inPath.length);
      const file = isFile ? words[0] : undefined;
      if (file !== undefined) typed['file'] = file;
      if (isFile) values['format'] = formatOf(values['format'] as string | undefined, file);
      const emptied = emptyValues(canEmpty, values['unset'] as string[] | undefined);
      const given = await readFields(fields, values, words, terminal, emptied);
      return withDatabase(shell, terminal, async (context) => {
        const { config, store } = context;
        // the option --user names a user by user name, like the argument
        if (values['user'] !== undefined) given['sub'] = (await findUser(store, String(values['user']))).sub;
        const params = { ...typed, ...(inPath.includes('sub') && { sub: (await findUser(store, typed['sub']!)).sub }) };
        const call: OperationCall = { params, input: inputOf(operation, command, given, config), actor: by };
        const result = await run(operation, contextOf(context, terminal), call);
        if (isFile) await writeText(terminal, file, (result as TextAnswer).text);
        const shown = { ...call, typed, config };
        const text = command.text(result, shown);
        if (isFile) return { json: { file, format: values['format'] }, text };
        const code = command.code?.(result) ?? 0;
        return { json: command.json ? command.json(result, shown) : operation.view(result), text, code };
      });
    },
  };
}

/** The name of an argument; one with the name of a path parameter is its new value. */
function argumentOf(field: Field, inPath: readonly string[], isOptional: boolean): string {
  const name = inPath.includes(field.name) ? `NEW_${field.name.toUpperCase()}` : placeholderOf(field);
  if (field.required) return isOptional ? `[${name}]` : name;
  return `[${name} …]`;
}

/** Turns the typed values into the operation's input. @throws OAuthError invalid_request */
function inputOf(
  operation: Operation,
  { prepare, limit = defaultLimit }: OperationCommand,
  given: Record<string, unknown>,
  config: Config,
): object {
  const { limit: wanted = limit, ...prepared } = prepare ? prepare(given) : given;
  const { input, error } = checkInput(operation, prepared, config) as { input: object; error?: z.ZodError };
  if (error) throw invalidRequest(firstRefusal(error, 'the input'));
  // a list of a command may be longer than a page of a request
  return 'limit' in input ? { ...input, limit: wanted } : input;
}

export function contextOf(context: Context, { stderr }: Pick<Terminal, 'stderr'>): OperationContext {
  const { config, store, secretBox, administration } = context;
  const fetchDocument = createGuardedFetch(config.outboundAllow);
  const directories = createDirectories(config.connectionsAllow);
  const log = { warn: (_line: object, message: string) => void stderr.write(`${message}\n`) };
  return {
    config,
    store,
    secretBox,
    administration,
    clients: { forget: () => undefined },
    passwords: createPasswordHashing(),
    passwordPolicy: createPasswordPolicy(config.passwordBreachCheck, fetchDocument, log),
    checkSector: createSectorCheck(fetchDocument),
    fetchDocument,
    samlKeys: createSamlKeys({ store, secretBox, issuer: config.issuer }),
    connectionKinds: createConnectionKinds({
      store,
      secretBox,
      fetchDocument,
      allowed: config.outboundAllow,
      issuer: config.issuer,
      now: () => new Date(),
      exchange: createGuardedExchange(config.outboundAllow),
      directories,
      directoriesAllowed: config.connectionsAllow,
    }),
    directories,
    limits: createLimits(store, config.limits),
    mailTransport: mailTransportOf(context),
    async appearance() {
      const appearance = createAppearance(store, config.appearance);
      await appearance.refresh();
      return appearance;
    },
    keyRing: () => openKeyRing({ store, secretBox, idTokenLifetime: config.lifetimes.idToken }),
  };
}

function mailTransportOf({ config, hasMailServer }: Context): MailTransport {
  const transport = createMailTransport(config);
  if (hasMailServer) return transport;
  const send = async () => {
    throw new UsageError(
      `The service sends mail by ${transport.place}, and the SMTP_URL of this shell is not the service's: run the command with the settings of the service (--env-file=FILE), or use the console.`,
    );
  };
  return { ...transport, send };
}
