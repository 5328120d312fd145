// Seals what a page shows that no link opens again, so that its language menu can show the same in another language.
import type { SecretBox } from '../crypto/secret-box.ts';
import type { PageName } from './views/index.ts';

/** In milliseconds. */
const lifetime = 3_600_000;
/** Characters, so that the form with it stays below the size of a body. */
const most = 48 * 1024;
const purpose = 'pages.shown_again';
/** A member of no page: it marks a time, which JSON would make a text. */
const timeMember = '\0time';

export interface ShownPage {
  name: PageName;
  data: object;
  status: number;
}

export type ShownPages = ReturnType<typeof createShownPages>;

export function createShownPages(secretBox: Pick<SecretBox, 'seal' | 'open'>) {
  return {
    /** Undefined if the page is too large. */
    seal(page: ShownPage): string | undefined {
      const sealed = secretBox.seal(JSON.stringify({ ...page, at: Date.now() }, marked), purpose).toString('base64url');
      return sealed.length > most ? undefined : sealed;
    },
    /** Undefined if the service did not seal it, or more than an hour ago. */
    open(sealed: string): ShownPage | undefined {
      let text: Buffer;
      try {
        text = secretBox.open(Buffer.from(sealed, 'base64url'), purpose);
      } catch {
        return undefined;
      }
      // sealed by this service, so that it has this form
      const { at, ...page } = JSON.parse(text.toString(), revived) as ShownPage & { at: number };
      return Date.now() - at > lifetime ? undefined : page;
    },
  };
}

function marked(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const own = this[key];
  return own instanceof Date ? { [timeMember]: own.getTime() } : value;
}

function revived(_key: string, value: unknown): unknown {
  const time = typeof value === 'object' && value !== null && (value as Record<string, unknown>)[timeMember];
  return typeof time === 'number' ? new Date(time) : value;
}
