// Compares the name that an administrator types to confirm an act with the name that the page shows.

const plain = (value: string) =>
  value
    .normalize('NFC')
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();

/** Whether the typed text is one of the names, apart from invisible characters. */
export function isTypedName(typed: string | undefined, ...names: readonly string[]): boolean {
  const given = plain(typed ?? '');
  return given !== '' && names.some((name) => plain(name) === given);
}
