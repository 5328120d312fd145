// Lists the one word for each thing in Brazilian Portuguese.
import { noSecondFactor, whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'administrador', not: whole('admin') },
    { use: 'aplicativo', not: whole('apps?|aplicaç(ão|ões)'), where: noSecondFactor },
    { use: 'e-mail', not: whole('emails?|correio eletrônico') },
    { use: 'chave de acesso', not: whole('passkeys?|senhas? de acesso') },
    { use: 'fazer login, sair', not: whole('logar|entrar na conta|autenticar-se|sign in|iniciar sessão') },
    { use: 'senha', not: whole('palavra-passe|password') },
    { use: 'verificação em duas etapas', not: /dois fatores|2FA|verificação em 2 etapas/i },
    { use: 'código de recuperação', not: /códigos? (de backup|reserva)/i },
    { use: 'pesquisar', not: whole('encontrar') },
    { use: 'usuário', not: whole('utilizador(es)?') },
    { use: 'você', not: whole('tu|teu|tua|vós') },
  ],
  same: ['Console'],
};
