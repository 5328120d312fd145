// Keeps a form of the console whose sign-in was too old, and shows it again, filled in, once the same user has confirmed the sign-in.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { digest, randomSecret } from '../../crypto/secrets.ts';
import {
  fillForm,
  hasControls,
  keepSecrets,
  mapForms,
  takesFile,
  takesText,
  type Typed,
  withNotice,
  withProblem,
} from '../../pages/fill-form.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { singleValued } from '../../server/parameters.ts';

/** The most bytes of a form that is kept. */
const maxLength = 64 * 1024;
/** The parameter of the page's address, and the field of its form. */
const parameter = 'kept';
/** In place of a form that was too large to keep. */
const tooLarge = 'too-large';

/** A form that was sent too late. */
interface KeptForm {
  /** Its address, below the base path. */
  action: string;
  typed: Typed;
}

/** Where the forms of the console are kept: no data that an operation shows. */
export interface KeptFormStore {
  keptForms: {
    find(id: string, session: string, sub: string): Promise<Buffer | undefined>;
    insert(id: string, session: string, sub: string, sealed: Buffer): Promise<void>;
  };
}

interface KeptFormsOptions {
  store: KeptFormStore;
  secretBox: SecretBox;
  sessions: BrowserSessions;
  basePath: string;
}

/** Members that are never shown: their controls hide what is typed. */
const isSecret = (name: string): boolean => /secret|password/.test(name);
const secretsOf = (typed: Typed): Typed => Object.fromEntries(Object.entries(typed).filter(([name]) => isSecret(name)));

export type KeptForms = ReturnType<typeof createKeptForms>;

export function createKeptForms({ store, secretBox, sessions, basePath }: KeptFormsOptions) {
  const idOf = (secret: string) => digest('kept form', secret).toString('hex');
  const dataOf = (id: string) => associatedDataOf('kept_forms.sealed_encrypted', id);
  const secretIn = (request: FastifyRequest): string | undefined =>
    singleValued(request.method === 'POST' ? request.body : request.query)[parameter];

  /** The form that the request names, if this session sent it. */
  async function find(request: FastifyRequest, session: Session): Promise<KeptForm | undefined> {
    const secret = secretIn(request);
    if (secret === undefined || !/^[A-Za-z0-9_-]{43}$/.test(secret)) return undefined;
    const id = idOf(secret);
    const sealed = await store.keptForms.find(id, session.id, session.user.sub);
    return sealed && (JSON.parse(secretBox.open(sealed, dataOf(id)).toString()) as KeptForm);
  }

  return {
    /** Keeps what a form of this session sent. @returns the address of its page that shows it again, or says that it was too large */
    async keep(request: FastifyRequest, session: Session, action: string, back: string): Promise<string> {
      const typed = Object.fromEntries(
        Object.entries(singleValued(request.body)).filter(([name]) => name !== 'csrf' && name !== parameter),
      );
      const content = JSON.stringify({ action, typed } satisfies KeptForm);
      const kept = (value: string) => `${back}${back.includes('?') ? '&' : '?'}${parameter}=${value}`;
      if (Buffer.byteLength(content) > maxLength) return kept(tooLarge);
      const secret = randomSecret();
      const id = idOf(secret);
      await store.keptForms.insert(id, session.id, session.user.sub, secretBox.seal(content, dataOf(id)));
      return kept(secret);
    },
    /** Puts the secrets of a form that was kept into the form that was sent now, if its user has not typed them again. */
    async restoreSecrets(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const body = request.body as Record<string, unknown> | null | undefined;
      if (request.method !== 'POST' || typeof body?.[parameter] !== 'string') return;
      const session = await sessions.find(request, reply);
      const kept = session && (await find(request, session));
      if (!kept || basePath + kept.action !== request.url) return;
      const missing = Object.entries(secretsOf(kept.typed)).filter(([name]) => (body[name] ?? '') === '');
      request.body = { ...withoutMemory(body), ...Object.fromEntries(missing) };
    },
    /** Returns what a page needs: its form filled in, the secrets that are kept, and the word that a form will need a confirmation. */
    async finisher(
      request: FastifyRequest,
      session: Session,
    ): Promise<((html: string, text: (key: string) => string) => string) | undefined> {
      const kept = await find(request, session);
      const secret = secretIn(request);
      if (kept && secret !== undefined) {
        const action = basePath + kept.action;
        const names = Object.keys(secretsOf(kept.typed));
        const field = { name: parameter, value: secret };
        return (html, text) => {
          const word = text('console.kept.secret');
          if (request.method === 'POST') return keepSecrets(html, { action, names, field, word });
          const notice = (form: string) =>
            [
              ...(hasControls(form) ? [text('console.kept.notice')] : []),
              ...(takesFile(form) ? [text('console.kept.files')] : []),
            ].join(' ');
          const filled = fillForm(html, { action, typed: kept.typed, isSecret, notice });
          return keepSecrets(filled, { action, names, field, word });
        };
      }
      if (request.method === 'GET' && secret === tooLarge)
        return (html, text) => withProblem(html, text('console.kept.too-large'));
      // a form that will need a confirmation says so when it opens
      if (request.method !== 'GET' || recentlyAuthenticated(session)) return undefined;
      return (html, text) =>
        mapForms(html, (form, action) =>
          takesText(form) && !action.startsWith(`${basePath}/admin/try-it`)
            ? withNotice(form, text('console.kept.soon'))
            : form,
        );
    },
  };
}

/** A copy without the record that singleValued() remembers. */
const withoutMemory = (body: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body));
