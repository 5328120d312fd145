// Lists what exists of a noun, for the fields of a form that name one.
import type { FormMember } from '../../entities/field.ts';
import { isPermitted } from '../../entities/permission.ts';
import type { FieldView } from '../../pages/views/parts.ts';
import { operations } from '../operations/index.ts';
import type { AdminSession } from './admin-session.ts';

/** More can be typed. */
const most = 100;
const keys = ['id', 'client_id', 'sub', 'name'];
const names = ['client_name', 'display_name', 'username', 'name'];

/** Adds to each field that names one the newest that exist, if the administrator may see them. */
export const withOffered = (
  { by, run }: Pick<AdminSession, 'by' | 'run'>,
  form: readonly FormMember[],
  fields: readonly FieldView[],
): Promise<FieldView[]> =>
  Promise.all(
    fields.map(async (field) => {
      const { refers } = form.find(({ name }) => name === field.name)!;
      const list = operations.find(({ method, path }) => method === 'GET' && path === `/admin/api/${refers}`);
      if (refers === undefined || !list || !isPermitted(by.kind, list.permission, list.act)) return field;
      const page = list.view(await run(list, {}, { limit: most })) as Record<string, Record<string, unknown>[]>;
      const offered = page[refers]?.map((one) => [textOf(one, keys), textOf(one, names)] as const);
      return { ...field, offered };
    }),
  );

const textOf = (one: Record<string, unknown>, members: readonly string[]): string =>
  String(members.map((member) => one[member]).find((value) => value !== undefined) ?? '');
