// Lists the one word for each thing in simplified Chinese.
import { noSecondFactor, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: '管理员', not: /管理者/ },
    { use: '应用', not: /应用程序|程序(?!可以|都|上的任何)/, where: noSecondFactor },
    { use: '电子邮件', not: /电邮|邮箱|Email/i },
    { use: '通行密钥', not: /通行证|密匙|passkey/i },
    { use: '登录', not: /登入|登陆|签到|注销/ },
    { use: '账号', not: /帐号|账户|帐户/ },
    { use: '两步验证', not: /双重认证|双因素|二步验证/ },
    { use: '恢复代码', not: /备用(代)?码|恢复码/ },
    { use: '验证码', not: /登录代码|(邮件|应用)中的代码/ },
    { use: '您', not: /你(?!们)/ },
  ],
  same: [],
};
