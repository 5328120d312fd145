// Writes the queries of the console's own addresses.

/** "?a=b&c=d" of the defined members; empty if there is none. */
export function queryOf(parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(given as [string, string][]).toString();
  return query === '' ? '' : `?${query}`;
}

/** The address of a page without the language that its menu of languages named. */
export function withoutLanguage(address: string): string {
  const [path = '', query = ''] = address.split('?', 2);
  const kept = query.split('&').filter((pair) => pair !== '' && !pair.startsWith('locale='));
  return kept.length > 0 ? `${path}?${kept.join('&')}` : path;
}
