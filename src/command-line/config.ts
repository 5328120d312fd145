// Defines the commands for configuration files: export, schema, plan, apply, drift. Each ends with 0 for nothing to do, 2 for differences, 1 for an error.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { applyConfig, type Applied, type MadeSecret } from '../admin/operations/config/apply.ts';
import type { FileText } from '../admin/operations/config/config-file.ts';
import { exportConfig } from '../admin/operations/config/export.ts';
import { planText } from '../admin/operations/config/plan-text.ts';
import { makePlan, type Plan, type PlanOptions, readPlan } from '../admin/operations/config/plan.ts';
import { configSchema } from '../admin/operations/config/schema.ts';
import { secretReader } from '../admin/operations/config/secret-sources.ts';
import type { OperationContext } from '../admin/operations/operation.ts';
import { harmless } from '../admin/operations/text-table.ts';
import type { Config } from '../config.ts';
import { maxAll } from '../rules/files/yaml-text.ts';
import { type Command, type Output, parse, type Terminal, UsageError, withDatabase } from './command.ts';
import { ofTheFile, writeText } from './file.ts';
import { contextOf } from './operation-command.ts';

/** Reads a file as UTF-8. @throws UsageError */
function textOf(file: string): string {
  try {
    if (statSync(file).size > maxAll) throw new UsageError(`The file ${file} has more than 4 MiB.`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(`The file ${file} is not UTF-8.`);
    throw ofTheFile(error, file);
  }
}

/** The texts of a file, or of the YAML files of a folder in the order of their names. @throws UsageError */
export function configTexts(path: string): FileText[] {
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch (error) {
    throw ofTheFile(error, path);
  }
  if (!isFolder) return [{ name: basename(path), text: textOf(path) }];
  const names = readdirSync(path)
    .filter((name) => /\.ya?ml$/.test(name))
    .sort();
  if (names.length === 0) throw new UsageError(`The folder ${path} has no YAML files.`);
  return names.map((name) => ({ name, text: textOf(join(path, name)) }));
}

/** The stored plan in a file; undefined for a configuration. */
function planIn(path: string): Plan | undefined {
  if (!path.endsWith('.json')) return undefined;
  try {
    return readPlan(JSON.parse(textOf(path)));
  } catch (error) {
    throw error instanceof SyntaxError ? new UsageError(`The file ${path} is not a plan: it is not JSON.`) : error;
  }
}

const withContext = <T>(
  shell: Config,
  terminal: Terminal,
  work: (context: OperationContext) => Promise<T>,
): Promise<T> => withDatabase(shell, terminal, (context) => work(contextOf(context, terminal)));

/** Plans a file, with the variables of this shell. */
async function planOf(context: OperationContext, shell: Config, path: string, options: PlanOptions): Promise<Plan> {
  const plan = await makePlan(context, configTexts(path), secretReader(path, shell), options);
  return { ...plan, folder: statSync(path).isDirectory() ? resolve(path) : dirname(resolve(path)) };
}

/** Writes the secrets that were made to new files that only their owner can read. @returns those that are to be shown, since no other copy is left */
function writeSecrets(secrets: readonly MadeSecret[], folder: string | undefined): MadeSecret[] {
  if (folder === undefined) return [...secrets];
  return secrets.filter(({ section, key, member, value }) => {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${section}_${key}_${member}`.replace(/[^\w.-]+/g, '_'));
      writeFileSync(file, `${value}\n`, { flag: 'wx', mode: 0o600 });
      return false;
    } catch {
      // the change is done: an error would end the only copy
      return true;
    }
  });
}

function secretText(count: number, shown: readonly MadeSecret[], folder: string | undefined): string {
  const written = count > shown.length ? `\nThe new secrets are in ${folder}: ${count - shown.length}.` : '';
  if (shown.length === 0) return written;
  const why = folder === undefined ? '' : ` no new file in ${folder} could be made for them.`;
  const lines = shown.map(({ section, key, member, value }) => `  ${section}.${key}.${member}  ${value}`);
  return `${written}\nThese secrets are shown only once:${why}\n${lines.join('\n')}`;
}

const appliedText = ({ changes, notes, warnings, name }: Applied): string =>
  [
    ...warnings.map((warning) => harmless(`! ${warning}`)),
    planText(changes, notes).split('\n').slice(0, -1).join('\n'),
    changes.length === 0
      ? 'Nothing to do.'
      : `Applied ${name}: ${changes.length} ${changes.length === 1 ? 'change' : 'changes'}.`,
  ]
    .filter(Boolean)
    .join('\n');

const options = {
  prune: { type: 'boolean', default: false },
  enable: { type: 'boolean', default: false },
} as const;
const pruneHelp = ['--prune', 'Deletes what this set of files made and no longer has.'] as const;
const enableHelp = ['--enable', 'Enables what an administrator disabled and the file has as enabled.'] as const;

const planned = ({ changes, notes }: Plan, json: unknown = { changes, notes }): Output => ({
  text: planText(changes, notes),
  json,
  code: changes.length > 0 ? 2 : 0,
});

export const configCommands: Record<string, Command> = {
  'config export': {
    usage: '[FILE] [--name NAME] [--all]',
    summary:
      'Writes the objects that administrators created to a new configuration file, with variables in place of secrets. Only its owner can read the file. Without a file, the command prints it.',
    options: [
      ['--name NAME', 'The name of the set of files; gatehouse by default.'],
      ['--all', 'Also writes clients that registered themselves, and their resources.'],
    ],
    async run(shell, args, terminal) {
      const { values, positionals } = parse(
        args,
        { name: { type: 'string', default: 'gatehouse' }, all: { type: 'boolean', default: false } },
        ['[FILE]'],
      );
      const text = await withContext(shell, terminal, (context) => exportConfig(context, values.name, values.all));
      const [file] = positionals;
      const json = { file, configuration: file === undefined ? text : undefined };
      if (file === undefined) return { text, json };
      await writeText(
        terminal,
        file,
        (async function* () {
          yield text;
        })(),
      );
      return { text: `Wrote ${file}.`, json };
    },
  },
  'config schema': {
    usage: '',
    summary: 'Prints the JSON Schema of configuration files, which editors can use.',
    async run(_shell, args) {
      parse(args, {});
      const schema = configSchema();
      return { text: JSON.stringify(schema, null, 2), json: schema };
    },
  },
  'config plan': {
    usage: 'FILE [--out PLAN] [--prune] [--enable]',
    summary:
      'Shows the changes that a file or a folder of files would make, and their effects. The exit code is 0 without changes, 2 with changes, and 1 after an error.',
    options: [
      [
        '--out PLAN',
        'Writes the plan to a new file PLAN, a JSON file which config apply takes: it is refused when something has changed since.',
      ],
      pruneHelp,
      enableHelp,
    ],
    async run(shell, args, terminal) {
      const { values, positionals } = parse(args, { ...options, out: { type: 'string' } }, ['FILE']);
      const { prune, enable, out } = values;
      if (out !== undefined && !out.endsWith('.json'))
        throw new UsageError('--out must name a file that ends in .json.');
      const plan = await withContext(shell, terminal, (context) =>
        planOf(context, shell, positionals[0]!, { prune, enable }),
      );
      if (out !== undefined)
        await writeText(
          terminal,
          out,
          (async function* () {
            yield `${JSON.stringify(plan, null, 2)}\n`;
          })(),
        );
      return planned(plan);
    },
  },
  'config drift': {
    usage: 'FILE',
    summary:
      'Shows every difference from a file, including disabled objects and objects that the file no longer contains. The exit code is 0 without differences, 2 with differences, and 1 after an error.',
    async run(shell, args, terminal) {
      const { positionals } = parse(args, {}, ['FILE']);
      const everything = { prune: true, enable: true };
      return planned(
        await withContext(shell, terminal, (context) => planOf(context, shell, positionals[0]!, everything)),
      );
    },
  },
  'config apply': {
    usage: 'FILE|PLAN [--prune] [--enable] [--secrets-out DIR]',
    summary:
      'Applies a file, a folder of files, or a plan that config plan wrote, in one transaction or not at all. Secrets that the service creates are shown once.',
    options: [
      pruneHelp,
      enableHelp,
      [
        '--secrets-out DIR',
        'Writes secrets that the service creates to new files in this folder, which only their owner can read.',
      ],
    ],
    async run(shell, args, terminal) {
      const { values, positionals } = parse(args, { ...options, 'secrets-out': { type: 'string' } }, ['FILE|PLAN']);
      const path = positionals[0]!;
      const plan = planIn(path);
      if (plan && (values.prune || values.enable))
        throw new UsageError('A plan has its options: leave out --prune and --enable.');
      const applied = await withContext(shell, terminal, (context) =>
        applyConfig(context, {
          texts: plan?.files ?? configTexts(path),
          read: secretReader(plan?.folder ?? path, shell),
          prune: plan?.prune ?? values.prune,
          enable: plan?.enable ?? values.enable,
          ...(plan && { expected: plan.changes }),
        }),
      );
      const { secrets, ...json } = applied;
      const folder = values['secrets-out'];
      const shown = writeSecrets(secrets, folder);
      return {
        text: appliedText(applied) + secretText(secrets.length, shown, folder),
        json: { ...json, ...((folder === undefined || shown.length > 0) && { secrets: shown }) },
      };
    },
  },
};
