// Finds every entity that a file of src/entities declares.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Entity } from '../../src/entities/entity.ts';

const folder = join(import.meta.dirname, '../../src/entities');

export async function declaredEntities(): Promise<Entity[]> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));
  const modules = await Promise.all(files.map((file) => import(join(folder, file)) as Promise<object>));
  return modules
    .flatMap((all) => Object.values(all) as unknown[])
    .filter((one): one is Entity => typeof one === 'object' && one !== null && 'table' in one && 'members' in one);
}
