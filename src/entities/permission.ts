// Names the sections of administration, and says which of them each kind of administrator may read and change.

/** The sections of administration; what belongs to no noun is of `overview` (figures of the service) or `settings`. */
export const sections = [
  'overview',
  'users',
  'groups',
  'clients',
  'resources',
  'claims', // attributes, and scopes with their claims
  'connections',
  'scim_sources',
  'provisioning_targets',
  'sessions',
  'keys',
  'audit',
  'webhooks',
  'appearance',
  'settings',
] as const;
/** What an administrator needs for an operation: a section, with the act that the operation is. */
export type Permission = (typeof sections)[number];
export type Act = 'read' | 'change';

/** The permissions of each kind of administrator. Who may change a section may also read it. */
export const administratorKinds: Record<string, Partial<Record<Permission, Act>>> = {
  administrator: Object.fromEntries(sections.map((section) => [section, 'change'])),
};

/** An unknown kind may do nothing, and no kind may do what is in no section. */
export function isPermitted(kind: string, permission: Permission, act: Act): boolean {
  const permissions = Object.hasOwn(administratorKinds, kind) ? administratorKinds[kind]! : {};
  if (!sections.includes(permission)) return false;
  return permissions[permission] === 'change' || (permissions[permission] === 'read' && act === 'read');
}
