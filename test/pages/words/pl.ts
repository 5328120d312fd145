// Lists the one word for each thing in Polish.
import { whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'administrator', not: whole('admin(a|ie)?') },
    { use: 'aplikacja', not: whole('apka|apki') },
    { use: 'e-mail', not: /(?<!e-)(?<!\p{L})e?mail/iu },
    { use: 'klucz dostępu', not: whole('passkey(s)?|klucz(e|y|a)? logowania') },
    { use: 'zalogować się', not: whole('login|zaloguj do') },
    { use: 'hasło', not: whole('password') },
    { use: 'weryfikacja dwuetapowa', not: /dwuskładnikow|2FA/i },
    { use: 'kod odzyskiwania', not: /kod(y|u|ów)? (zapasow|awaryjn)/i },
    { use: 'utworzyć', not: whole('stwórz|stworzyć') },
    { use: 'Ty', not: whole('Pan|Pani|Państwo|Pana') },
  ],
  same: [],
};
