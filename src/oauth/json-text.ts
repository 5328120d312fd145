// Finds duplicate member names in a JSON text, of which JSON.parse silently keeps the last.

/** Counts the members of all objects in a value, without the items of arrays. A loop, so that a deep value cannot exhaust the stack. */
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
 * an object is unpredictable"). Each member of the text has one colon outside strings: a value with fewer members than
 * colons has lost one.
 * @param value the result of JSON.parse
 */
export function hasUniqueNames(text: string, value: unknown): boolean {
  let colons = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    // a valid text has backslashes only in strings
    if (character === '\\') index++;
    else if (character === '"') quoted = !quoted;
    else if (character === ':' && !quoted) colons++;
  }
  return colons === countMembers(value);
}
