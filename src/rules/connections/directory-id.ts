// Writes the 16 bytes of objectGUID as Active Directory shows them (MS-DTYP 2.3.4.2).

/** Returns the id in lower case; undefined unless there are 16 bytes. */
export function directoryId(bytes: Uint8Array): string | undefined {
  if (bytes.length !== 16) return undefined;
  // the first three fields have their bytes in reverse order
  const order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
  const hex = order.map((at) => bytes[at]!.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
