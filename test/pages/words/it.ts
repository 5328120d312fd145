// Lists the one word for each thing in Italian.
import { noSecondFactor, whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'amministratore', not: whole('admin') },
    { use: 'applicazione', not: whole('app|applicativi?'), where: noSecondFactor },
    { use: 'email', not: /e-mail/i },
    { use: 'passkey', not: /chiav[ei] di accesso/i },
    { use: 'accedere, uscire', not: whole('login|logout|autenticarsi|effettua l’accesso') },
    { use: 'password', not: /parola chiave/i },
    { use: 'verifica in due passaggi', not: /due fattori|2FA|verifica in 2 passaggi/i },
    { use: 'codice di recupero', not: /codic[ei] di (backup|riserva|emergenza)/i },
    { use: 'eliminare, rimuovere', not: whole('cancella|cancellare|cancellato') },
    { use: 'cerca', not: whole('trova') },
    { use: 'tu', not: /la preghiamo|\bLei\b/i },
  ],
  same: ['{count} browser', 'Browser', 'Console', 'No', 'Passkey', 'Password'],
};
