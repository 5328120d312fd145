// Lists the one word for each thing in English.
import { forUsers, noSecondFactor, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'administrator', not: /\badmins?\b/i, except: /admin API|admin, metrics/g },
    { use: 'application', not: /\bapps?\b/i, except: /OAuth app|app\.example|example\.app/g, where: noSecondFactor },
    { use: 'application', not: /\bclients?\b/i, where: forUsers },
    { use: 'create', not: /\bmake (a|an) (client|application|user|group|connection)\b/i },
    { use: 'disable', not: /\b(deactivate|lock)d?\b/i, except: /locked out/gi },
    {
      use: 'user name',
      not: /\busernames?\b/i,
      // the value of a member
      except: /(email|address\)), username,/g,
    },
    { use: 'email', not: /\be-mails?\b/i },
    { use: 'sign in', not: /\blog(ged|ging)? (in|on|out|off)\b/i },
    { use: 'lowercase', not: /\b(small|lower-case) letters\b/i },
    {
      use: 'user',
      not: /\b(people|persons?|whoever|somebody|nobody)\b/i,
      // as the schemas of directories name them
      except: /ou=people|objectClass=person/g,
      where: (key) => key !== 'console.sections.people',
    },
    { use: 'per line', not: /\b(on|in) each line\b|\ba line each\b/i },
  ],
  same: [],
};
