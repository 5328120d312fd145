// Names the members of an entity in the service: owner_id of the API is ownerId there.
export type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
/** Made once for each name, since every row of a list needs them. */
const camelNames = Object.create(null) as Record<string, string>;
export const camel = (name: string): string =>
  (camelNames[name] ??= name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
