// Lists the one word for each thing in Dutch.
import { whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'beheerder', not: whole('admins?|administrators?') },
    { use: 'app', not: whole('applicaties?|toepassing(en)?') },
    { use: 'e-mail', not: /(?<!e-)(?<!\p{L})e?mails?(?!\p{L})/iu },
    { use: 'inloggen, uitloggen', not: whole('aanmeld(en|ing|ingen)|afmelden|meld je aan|inlogt je|login') },
    { use: 'passkey', not: /toegangssleutels?/i },
    { use: 'wachtwoord', not: whole('paswoord|password') },
    { use: 'tweestapsverificatie', not: /tweefactor|2FA|verificatie in twee stappen/i },
    { use: 'herstelcode', not: /(back-up|reserve)codes?/i },
    { use: 'verwijderen', not: whole('wissen|gewist') },
    { use: 'je', not: whole('u|uw') },
  ],
  same: [
    '{count} browser',
    '{count} browsers',
    'Browser',
    'Code',
    'Console',
    'Contact',
    'Details',
    'Passkey',
    'Passkeys',
    'Website',
  ],
};
