// Reads an attribute that Active Directory returns in parts: `member;range=0-1499`, then `member;range=1500-*` (MS-ADTS 3.1.1.3.1.3.3).

type Attributes = ReadonlyMap<string, readonly string[]>;

/** The most parts of an attribute. A directory that returns more is in error. */
const maxParts = 10_000;

/**
 * Reads all values of an attribute.
 * @param first the attributes of the entry, by their names in lower case, as a usual search returns them
 * @param read reads one attribute of the entry, with the range as its option
 * @returns undefined if the parts do not follow each other
 */
export async function readRanges(
  first: Attributes,
  attribute: string,
  read: (name: string) => Promise<Attributes>,
): Promise<string[] | undefined> {
  const name = attribute.toLowerCase();
  const whole = first.get(name);
  if (whole && whole.length > 0) return [...whole];
  const values: string[] = [];
  let attributes = first;
  for (let part = 0; part < maxParts; part++) {
    const found = partOf(attributes, name);
    if (!found) return part === 0 ? [] : undefined;
    if (found.from !== values.length) return undefined;
    values.push(...found.values);
    if (found.to === '*') return values;
    if (Number(found.to) !== values.length - 1) return undefined;
    attributes = await read(`${attribute};range=${values.length}-*`);
  }
  return undefined;
}

function partOf(
  attributes: Attributes,
  name: string,
): { from: number; to: string; values: readonly string[] } | undefined {
  for (const [key, values] of attributes) {
    const [, of, from, to] = /^([^;]+);range=(\d{1,9})-(\d{1,9}|\*)$/.exec(key) ?? [];
    if (of === name) return { from: Number(from), to: to!, values };
  }
  return undefined;
}
