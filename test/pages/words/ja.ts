// Lists the one word for each thing in Japanese.
import { noSecondFactor, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: '管理者', not: /アドミン|管理人/ },
    { use: 'アプリケーション', not: /アプリ(?!ケーション)/, where: noSecondFactor },
    { use: 'メールアドレス', not: /E ?メール|電子メール/i },
    { use: 'パスキー', not: /passkey/i },
    { use: 'ログイン', not: /サインイン|サインアウト|サインアップ/ },
    { use: 'アカウント', not: /ご?口座/ },
    { use: '2 段階認証', not: /二段階|2要素|二要素|多要素/ },
    { use: 'リカバリーコード', not: /バックアップ ?コード|復旧コード/ },
    { use: 'no pronoun', not: /お客様|あなた/ },
    { use: 'です・ます', not: /である。|(?<!せ)だ。/ },
  ],
  same: [],
};
