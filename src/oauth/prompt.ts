// Lists the values of the parameter prompt (OpenID Connect Core 3.1.2.1).

/** @param settings `create` is supported where users may sign up (Initiating User Registration 1.0, 4.1) */
export const promptValues = ({ signUp }: { signUp: boolean }): readonly string[] => [
  'none',
  'login',
  'consent',
  'select_account',
  ...(signUp ? ['create'] : []),
];

/** The prompt of a request whose user has chosen an account. */
export const withoutAccountChoice = (prompt: string): string =>
  prompt
    .split(' ')
    .filter((value) => value !== 'select_account')
    .join(' ');
