// Lists the one word for each thing in Turkish.
import { whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'yönetici', not: whole('admin|idareci') },
    { use: 'uygulama', not: whole('aplikasyon') },
    { use: 'e-posta', not: whole('email|e-mail|mail') },
    { use: 'geçiş anahtarı', not: /passkey|şifre anahtarı/i },
    { use: 'oturum açmak', not: whole('giriş yap|giriş yapın|login|çıkış yap') },
    { use: 'şifre', not: whole('parola|parolanız|parolanızı') },
    { use: 'iki adımlı doğrulama', not: /iki faktörlü|2FA|iki aşamalı/i },
    { use: 'kurtarma kodu', not: /yedek kod/i },
    { use: 'siz', not: whole('sen|senin|sana') },
  ],
  same: [],
};
