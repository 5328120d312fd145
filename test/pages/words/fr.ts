// Lists the one word for each thing in French.
import { noSecondFactor, whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'administrateur', not: whole('admins?') },
    { use: 'application', not: whole('apps?|applis?'), where: noSecondFactor },
    { use: 'adresse e-mail', not: /courriel|(?<!e-)mail|\bemail/i },
    { use: 'clé d’accès', not: whole("passkeys?|clés? d[’']identification") },
    { use: 'se connecter', not: /s[’']authentifier|s[’']identifier|(ouvrir|fermer) une session/i },
    { use: 'validation en deux étapes', not: /vérification en deux étapes|double authentification|2FA/i },
    { use: 'second facteur', not: /(deuxième|2e) facteur/i },
    { use: 'code de récupération', not: /codes? de (secours|sauvegarde)/i },
    { use: 'modifier le mot de passe', not: /change[rz] (de|le|votre) mot de passe/i },
    { use: 'modification de l’adresse', not: /changement d’adresse|ce changement/i },
    { use: 'saisir', not: whole('entrez|tapez|renseignez') },
    { use: 'vous', not: whole('tu|ton|ta|tes|toi') },
    { use: '’', not: /\p{L}'\p{L}/u },
    { use: 'a space that does not break before : ; ! ? »', not: /[ \p{L}][:;!?»](?!\/\/)/u },
  ],
  same: ['Applications', 'Code', 'Console'],
};
