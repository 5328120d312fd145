// Writes our own messages: elements from values, each escaped, so that no value can become markup (federation F47).

/** A written element. Only this module makes one, so a text is never taken as markup. */
export interface Written {
  readonly xml: string;
}
type Content = string | Written | readonly Written[];
type Attributes = Readonly<Record<string, string | undefined>>;

/** Characters that XML 1.0 cannot carry are replaced. */
const unusable = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // a parser would change these in an attribute, or at the end of a line
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};
export const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replace(unusable, '\uFFFD')
    .replace(/[&<>"'\t\n\r]/g, (character) => escapes[character]!);

/** @param attributes those without a value are left out @param content a text is escaped */
export function element(name: string, attributes: Attributes, content: Content = []): Written {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${escaped(value)}"`],
  );
  const inside =
    typeof content === 'string'
      ? escaped(content)
      : [content]
          .flat()
          .map(({ xml }) => xml)
          .join('');
  const start = `<${name}${written.join('')}`;
  return { xml: inside === '' ? `${start}/>` : `${start}>${inside}</${name}>` };
}

/** An element that this module wrote before, after it was signed or encrypted. */
export const asWritten = (xml: string): Written => ({ xml });

/** The form of a time in a message (XML Schema dateTime), in whole seconds. */
export const instant = (time: Date): string => time.toISOString().replace(/\.\d{3}Z$/, 'Z');
