// Finds every entity that a file of src/entities declares, and says which pages an entity has.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Entity } from '../../src/entities/entity.ts';
import { ruleListsOf } from '../../src/entities/form.ts';

const folder = join(import.meta.dirname, '../../src/entities');

export async function declaredEntities(): Promise<Entity[]> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));
  const modules = await Promise.all(files.map((file) => import(join(folder, file)) as Promise<object>));
  return modules
    .flatMap((all) => Object.values(all) as unknown[])
    .filter((one): one is Entity => typeof one === 'object' && one !== null && 'table' in one && 'members' in one);
}

/** The routes of the console's pages of an entity. @param hasPage whether one has a page of its own; otherwise its form is at its address */
export function entityRoutes({ table, one, members }: Entity, hasPage: boolean): string[] {
  const list = `/admin/${table.replaceAll('_', '-')}`;
  const page = `${list}/:${one}`;
  const forms = [`${list}/new`, `${page}${hasPage ? '/edit' : ''}`, `${page}/delete`];
  return [
    ...[list, ...(hasPage ? [page] : []), ...forms].map((path) => `GET ${path}`),
    ...forms.map((path) => `POST ${path}`),
    ...(Object.keys(ruleListsOf(members)).length > 0
      ? ['GET /new', 'GET /:rule', 'POST', 'POST /new', 'POST /:rule'].map((route) => {
          const [method, end = ''] = route.split(' ');
          return `${method} ${page}/rules/:member${end}`;
        })
      : []),
  ];
}
