// Names the mails. Their sentences are in the catalogues under `mail.NAME.`.
export const mailNames = [
  'verify-address',
  'address-change-ordered',
  'address-changed',
  'reset-password',
  'password-changed',
  'second-factor-changed',
  'identity-linked',
  'identity-unlinked',
  'new-sign-in',
  'second-step-failed',
  'sign-up',
  'sign-up-known',
  'address-held',
  'sign-in-elsewhere',
  'invitation',
  'registration-waiting',
  'registration-approved',
  'registration-refused',
  'test',
] as const;
export type MailName = (typeof mailNames)[number];
