// Finds what roles mean in a realm of Keycloak: roles contain roles, groups have roles, and groups below inherit them.
import { z } from 'zod';

const texts = z.array(z.string());
const ofClients = z.record(z.string(), texts);
const roleShape = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  composites: z.looseObject({ realm: texts.optional(), client: ofClients.optional() }).optional(),
});
export const rolesShape = z.looseObject({
  realm: z.array(z.unknown()).optional(),
  client: z.record(z.string(), z.array(z.unknown())).optional(),
});

/** A role by its client; undefined for one of the realm. */
export interface Role {
  client: string | undefined;
  name: string;
}
export const keyOf = ({ client, name }: Role) => JSON.stringify([client ?? null, name]);

/** The roles that a user or a group has. */
export interface RoleHolder {
  realmRoles?: string[] | undefined;
  clientRoles?: Record<string, string[]> | undefined;
}
export const holderShape = { realmRoles: texts.optional(), clientRoles: ofClients.optional() };

const rolesOf = ({ realmRoles = [], clientRoles = {} }: RoleHolder): Role[] => [
  ...realmRoles.map((name) => ({ client: undefined, name })),
  ...Object.entries(clientRoles).flatMap(([client, names]) => names.map((name) => ({ client, name }))),
];

export interface RealmRoles {
  /** Every role with its description. */
  listed: (Role & { description: string | undefined })[];
  /** The roles of a holder, with those that they contain. */
  of(holder: RoleHolder): Role[];
}

/** @param onFault is told of each role of another form */
export function readRoles(given: unknown, onFault: () => void): RealmRoles {
  const contained = new Map<string, Role[]>();
  const listed: RealmRoles['listed'] = [];
  const { realm = [], client = {} } = rolesShape.safeParse(given ?? {}).data ?? (onFault(), {});
  const all = [
    ...realm.map((role) => ({ role, of: undefined })),
    ...Object.entries(client).flatMap(([of, roles]) => roles.map((role) => ({ role, of }))),
  ];
  for (const { role, of } of all) {
    const read = roleShape.safeParse(role).data;
    if (!read) {
      onFault();
      continue;
    }
    const one = { client: of, name: read.name };
    listed.push({ ...one, description: read.description });
    const { realm: realmRoles, client: clientRoles } = read.composites ?? {};
    contained.set(keyOf(one), rolesOf({ realmRoles, clientRoles }));
  }
  return {
    listed,
    of(holder) {
      const found = new Map<string, Role>();
      const open = rolesOf(holder);
      for (let role = open.pop(); role; role = open.pop()) {
        const key = keyOf(role);
        if (found.has(key)) continue;
        found.set(key, role);
        for (const one of contained.get(key) ?? []) open.push(one);
      }
      return [...found.values()];
    },
  };
}

const groupShape = z.looseObject({
  name: z.string(),
  path: z.string().optional(),
  description: z.string().optional(),
  ...holderShape,
  subGroups: z.array(z.unknown()).optional(),
});

/** A group by its name here, `a/b`. */
export interface RealmGroup {
  name: string;
  paths: string[];
  description: string | undefined;
  /** Without those of the groups above. */
  own: Role[];
  above: RealmGroup | undefined;
}

/** The roles that the members of a group have, each once: a group has those of the groups above. */
export function rolesOfGroup(group: RealmGroup): Role[] {
  const found = new Map<string, Role>();
  for (let one: RealmGroup | undefined = group; one; one = one.above)
    for (const role of one.own) found.set(keyOf(role), role);
  return [...found.values()];
}

/** The most characters of a name; a deeper tree is not followed. */
const maxName = 255;

/**
 * The groups of a tree. Of groups that would have one name, none is taken: they must not be merged.
 * @param onFault is told of each group that is left out
 */
export function readGroups(
  given: readonly unknown[],
  roles: RealmRoles,
  onFault: (name: string, said: string) => void,
): RealmGroup[] {
  const found: RealmGroup[] = [];
  const open: { node: unknown; above: RealmGroup | undefined }[] = given.map((node) => ({ node, above: undefined }));
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, above } = next;
    const read = groupShape.safeParse(node).data;
    const name = [above?.name, read?.name].filter((part) => part !== undefined).join('/');
    if (!read || name.length > maxName) {
      onFault(
        name,
        read
          ? 'The name is too long. The group is left out, with those below it.'
          : 'A group has another form than expected. It is left out.',
      );
      continue;
    }
    const paths = [...new Set([read.path ?? `/${name}`, `/${name}`])];
    const group = { name, paths, description: read.description, own: roles.of(read), above };
    found.push(group);
    for (const below of read.subGroups ?? []) open.push({ node: below, above: group });
  }
  const count = new Map<string, number>();
  for (const { name } of found) count.set(name, (count.get(name) ?? 0) + 1);
  return found.filter(({ name }) => {
    const isOne = count.get(name) === 1;
    if (!isOne) onFault(name, 'Several groups would have this name. They are left out, and not merged.');
    return isOne;
  });
}
