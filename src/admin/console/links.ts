// Writes the queries of the console's own addresses.

/** "?a=b&c=d" of the defined members; empty if there is none. */
export function queryOf(parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(given as [string, string][]).toString();
  return query === '' ? '' : `?${query}`;
}
