// Each language has one word for one thing: this list names the word, and others that no message uses for it.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const folder = new URL('../../templates/messages/', import.meta.url);

/** The messages of a language by key, each with all its plural forms, without the names of what they are filled with. */
function messagesOf(language: string): [key: string, text: string][] {
  const files = readdirSync(folder).filter((file) => file === `${language}.json` || file.startsWith(`${language}.`));
  const entries = files.flatMap((file) =>
    Object.entries(JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Record<string, string | object>),
  );
  return entries.flatMap(([key, message]) =>
    (typeof message === 'string' ? [message] : (Object.values(message) as string[])).map((text): [string, string] => [
      key,
      text.replaceAll(/\{\w+\}/g, '…'),
    ]),
  );
}

interface Word {
  use: string;
  not: RegExp;
  /** Phrases in which the other word is right: names of other products, and terms of the standards. */
  except?: RegExp;
  where?: (key: string) => boolean;
}

const forUsers = (key: string) => !/^(console|event|registration)\./.test(key);
/** Here an app is one on a phone that shows codes. */
const noSecondFactor = (key: string) => !/second-factors|authenticator|^account\.(method|security|attention)/.test(key);

const words: Record<string, Word[]> = {
  en: [
    { use: 'administrator', not: /\badmins?\b/i, except: /admin API|admin and metrics/g },
    { use: 'application', not: /\bapps?\b/i, except: /OAuth app|app\.example|example\.app/g, where: noSecondFactor },
    { use: 'application', not: /\bclients?\b/i, where: forUsers },
    { use: 'create', not: /\bmake (a|an) (client|application|user|group|connection)\b/i },
    { use: 'disable', not: /\b(deactivate|lock)d?\b/i, except: /locked out/gi },
    { use: 'user name', not: /\busernames?\b/i },
    { use: 'email', not: /\be-mails?\b/i },
    { use: 'sign in', not: /\blog(ged|ging)? (in|on|out|off)\b/i },
    { use: 'per line', not: /\b(on|in) each line\b|\ba line each\b/i },
  ],
  de: [
    { use: 'Administrator', not: /\bAdministration\b|\bAdmins?\b|\bVerwalter\b/, except: /Admin-API/g },
    { use: 'Anwendung', not: /\bApplikation|\bApps?\b/, except: /OAuth-App/g, where: noSecondFactor },
    { use: 'Anwendung', not: /\bClients?\b/, where: forUsers },
    { use: 'erstellen', not: /\b(anlegen|anzulegen|angelegt)\b|\blegen Sie [^.:;]* an[.,:;]/i },
    { use: 'deaktivieren', not: /\b(Konto|Benutzer|Client|Anwendung)\b[^.]* (sperren|gesperrt)\b/ },
    { use: 'die URI', not: /\b(das|ein|den) ([A-Z]\w+-)?URI\b(?!-)/ },
    { use: 'pro Zeile', not: /\bje Zeile\b/i },
    { use: 'Passwort', not: /\bKennw(ort|örter)/i },
    { use: 'E-Mail', not: /\bEmails?\b|\bEMail/ },
    { use: 'anmelden', not: /\b(einlogg|eingelogg|auslogg|ausgelogg)/i },
  ],
  ar: [
    { use: 'مسؤول', not: /مدير/, except: /مدير كلمات المرور/g },
    // client_id and client_secret are terms of OAuth, and others have clients of their own
    { use: 'تطبيق', not: /عميل|عملاء/, except: /(معرّف|سر|بسر|مصادقة) (ال)?عميل|عميل OAuth/g },
    { use: 'كلمة المرور', not: /كلمة (ال)?سر/ },
  ],
};

describe.each(Object.entries(words))('the messages in %s', (language, list) => {
  it.each(list)('say “$use” where others say $not (pages, words)', ({ not, except, where = () => true }) => {
    const wrong = messagesOf(language).filter(
      ([key, text]) => where(key) && not.test(except ? text.replaceAll(except, '…') : text),
    );
    expect(wrong).toEqual([]);
  });
});
