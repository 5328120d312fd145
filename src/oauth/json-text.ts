// What JSON.parse does not tell of a JSON text: whether an object names a member twice, of which it keeps the last.

/**
 * How many members the objects of a value have in all, arrays' items not counted. It is a loop, so that no depth is too
 * deep for it.
 */
export function countMembers(value: unknown): number {
  let count = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next !== 'object' || next === null) continue;
    const members: unknown[] = Object.values(next);
    if (!Array.isArray(next)) count += members.length;
    for (const member of members) rest.push(member);
  }
  return count;
}

/**
 * Whether every name in a JSON text is unique in its object (RFC 8259 4: else "the behavior of software that receives such
 * an object is unpredictable"). Each member of the text has one colon outside strings, so a value with fewer members than
 * that has lost one.
 * @param value what JSON.parse made of the text
 */
export function hasUniqueNames(text: string, value: unknown): boolean {
  let colons = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    // in a valid text a backslash stands in strings only
    if (character === '\\') index++;
    else if (character === '"') quoted = !quoted;
    else if (character === ':' && !quoted) colons++;
  }
  return colons === countMembers(value);
}
