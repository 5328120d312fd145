// Lists the one word for each thing in Ukrainian.
import { whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'адміністратор', not: whole('адмін(а|у)?') },
    { use: 'застосунок', not: whole('додаток|додатку|додатком|додатки|аплікація') },
    { use: 'електронна адреса', not: /e-mail|емейл|імейл|мейл/i },
    { use: 'ключ доступу', not: /passkey|ключ(і|ів)? входу/i },
    { use: 'увійти, вийти', not: whole('залогін(итися|ьтеся)?|логін') },
    { use: 'обліковий запис', not: /акаунт/i },
    { use: 'двоетапна перевірка', not: /двофактор|2FA/i },
    { use: 'код відновлення', not: /резервн(ий|і|их) код/i },
    { use: 'ви', not: whole('ти|твій|твоя|твого') },
  ],
  same: [],
};
