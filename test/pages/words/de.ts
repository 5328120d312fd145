// Lists the one word for each thing in German.
import { forUsers, noSecondFactor, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'Administrator', not: /\bAdministration\b|\bAdmins?\b|\bVerwalter\b/, except: /Admin-API/g },
    { use: 'Anwendung', not: /\bApplikation|\bApps?\b/, except: /OAuth-App/g, where: noSecondFactor },
    { use: 'Anwendung', not: /\bClients?\b/, where: forUsers },
    { use: 'erstellen', not: /\b(anlegen|anzulegen|angelegt)\b|\blegen Sie [^.:;]* an[.,:;]/i },
    { use: 'deaktivieren', not: /\b(Konto|Benutzer|Client|Anwendung)\b[^.]* (sperren|gesperrt)\b/ },
    { use: 'die URI', not: /\b(das|ein|den|diesen|absoluten) ([A-Z]\w+-)?URI\b(?!-)/ },
    { use: 'Genehmigung', not: /\bFreigabe\b|\b(freigegeben|freigeben)\b/i },
    { use: 'Token', not: /\bTokens\b|\bAccess-Token\b/ },
    { use: 'Befehlszeile', not: /\bKommandozeile/ },
    { use: 'pro Zeile', not: /\bje Zeile\b/i },
    { use: 'Passwort', not: /\bKennw(ort|örter)/i },
    { use: 'E-Mail', not: /\bEmails?\b|\bEMail/ },
    { use: 'anmelden', not: /\b(einlogg|eingelogg|auslogg|ausgelogg)/i },
  ],
  same: ['Browser', 'Code', 'Details', 'HTTP Basic (client_secret_basic)', 'Name', 'Passkeys', 'Website'],
};
