// Makes an address that a request named safe to log and to keep: its query, its fragment and its credentials may hold secrets (security R99).

const maxShown = 500;

/** The address without the values of its query, at most 500 characters. */
export function shownAddress(text: string): string {
  const [, before = '', query, fragment] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(text) ?? [];
  // what has no name is a value
  const names = query?.split('&').map((part) => (part.includes('=') ? `${part.slice(0, part.indexOf('='))}=…` : '…'));
  const shown = [
    before.replace(/\/\/[^/@]*@/, '//…@'),
    names === undefined ? '' : `?${names.join('&')}`,
    fragment === undefined ? '' : '#…',
  ].join('');
  return shownText(shown);
}

/** Text of a request as the database stores it, at most 500 characters. */
export function shownText(text: string): string {
  return text.slice(0, maxShown).toWellFormed().replaceAll('\0', '?');
}
