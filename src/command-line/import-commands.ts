// Defines the commands that read the export of another product, and write files for this service: one for each product.
import { type Command, parse } from './command.ts';
import type { Product } from './importers/product.ts';
import { products } from './importers/products.ts';

const flags = {
  output: ['--output DIR', 'The folder for the files, which must be empty; by default gatehouse-import.'],
  'keep-subs': ['--keep-subs', 'Keeps the ids of users, so that applications recognize them.'],
  'with-admins': ['--with-admins', 'Makes administrators of the other product administrators here.'],
} as const;

/** The command of a product. */
export function importCommand({ title, files, options = {}, summary, load }: Product): Command {
  const own = Object.entries(options);
  return {
    usage: [
      ...files,
      ...own.map(([option]) => `[--${option} FILE]`),
      '[--output DIR] [--keep-subs] [--with-admins]',
    ].join(' '),
    summary: `${summary}. No database is opened.`,
    options: [...own.map(([option, help]) => [`--${option} FILE`, help] as const), ...Object.values(flags)],
    async run(_config, args) {
      const { values, positionals } = parse(
        args,
        {
          ...Object.fromEntries(own.map(([option]) => [option, { type: 'string' as const }])),
          output: { type: 'string', default: 'gatehouse-import' },
          'keep-subs': { type: 'boolean', default: false },
          'with-admins': { type: 'boolean', default: false },
        },
        files,
      );
      const { open } = await load();
      const given = Object.fromEntries(
        own.map(([option]) => [option, values[option as keyof typeof values] as string | undefined]),
      );
      const source = await open(positionals, given);
      const { writeMove } = await import('./importers/move.ts');
      const { output } = values;
      const counts = await writeMove(
        { output, keepSubs: values['keep-subs'], admins: values['with-admins'] },
        { ...source, title },
      );
      const { users, clients, connections, groups, notes } = counts;
      return {
        json: { output, ...counts },
        text: `Wrote ${output}: ${users} users, ${clients} clients, ${connections} connections, ${groups} groups. Read ${output}/report.md: it has ${notes} notes.`,
      };
    },
  };
}

export const importCommands: Record<string, Command> = Object.fromEntries(
  products.map((product) => [`import ${product.name}`, importCommand(product)]),
);
