// Lists the one word for each thing in Arabic.
import { type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'مسؤول', not: /مدير/, except: /مدير كلمات المرور/g },
    // client_id and client_secret are terms of OAuth, and others have clients of their own
    { use: 'تطبيق', not: /عميل|عملاء/, except: /(معرّف|سر|بسر|مصادقة) (ال)?عميل|عميل OAuth/g },
    { use: 'كلمة المرور', not: /كلمة (ال)?سر/ },
  ],
  same: [],
};
