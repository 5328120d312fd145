// Defines the word list of a language.

export interface WordList {
  /** One word for one thing. */
  words: Word[];
  /** Whole texts for users that are the same as in English: words that the language shares, and names. */
  same: readonly string[];
}

interface Word {
  use: string;
  /** What no message uses for it. */
  not: RegExp;
  /** Phrases in which the other word is right: names of other products, and terms of the standards. */
  except?: RegExp;
  where?: (key: string) => boolean;
}

export const forUsers = (key: string): boolean => !/^(console|event|registration|setting)\./.test(key);

/** Here an app is one on a phone that shows codes. */
export const noSecondFactor = (key: string): boolean =>
  !/second-factors|authenticator|^account\.(method|security|attention)/.test(key);

/** Whole words of any script, in capital or small letters. @param words a pattern such as "tu|ton" */
export const whole = (words: string): RegExp => new RegExp(`(?<![\\p{L}\\p{M}])(?:${words})(?![\\p{L}\\p{M}])`, 'iu');
