// Lists the one word for each thing in Korean.
import { noSecondFactor, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: '관리자', not: /어드민/ },
    { use: '애플리케이션', not: /(?<!인증 )앱/, where: noSecondFactor },
    { use: '이메일', not: /전자 ?우편|e-?mail|(?<!이)메일/i },
    { use: '패스키', not: /passkey|암호키/i },
    { use: '로그인', not: /사인인|로그온/ },
    { use: '비밀번호', not: /암호(?!화)|패스워드/ },
    { use: '2단계 인증', not: /이중 인증|2FA|이단계/i },
    { use: '복구 코드', not: /백업 코드/ },
    { use: '안 함', not: /안함/ },
    { use: '합니다, 하세요', not: /한다\.|하라\./ },
  ],
  same: [],
};
