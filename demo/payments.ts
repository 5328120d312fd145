// Holds the payments of the sample bank: the invoices that its customers pay, and the type of authorization details that describes a payment (RFC 9396).

/** One payment, as the bank asks its customer to allow it. */
export interface Payment {
  type: string;
  amount: string;
  currency: string;
  payee: { name: string; iban: string };
  reference: string;
}

/** A payment that the customer has allowed. */
export interface PaidPayment extends Payment {
  /** Of the service: by it a bank that stores its payments recognizes one that it has done already. */
  id: string;
}

const type = 'quayside_payment';
const line = { type: 'string', minLength: 1, maxLength: 70 };

/** What an administrator creates: the members of a payment, and the sentence that customers read. */
export const paymentType = {
  type,
  schema: {
    type: 'object',
    required: ['amount', 'currency', 'payee', 'reference'],
    properties: {
      amount: { type: 'string', maxLength: 12 },
      currency: { type: 'string', format: 'currency' },
      payee: {
        type: 'object',
        required: ['name', 'iban'],
        properties: { name: line, iban: { type: 'string', format: 'iban' } },
      },
      reference: line,
    },
  },
  text: {
    en: 'Pay {amount} {currency} to {payee.name}',
    de: '{amount} {currency} an {payee.name} zahlen',
    ar: 'دفع {amount} {currency} إلى {payee.name}',
  },
};

const invoice = (amount: string, name: string, iban: string, reference: string): Payment => ({
  type,
  amount,
  currency: 'EUR',
  payee: { name, iban },
  reference,
});

/** The invoices that a customer can pay, by their number. */
export const invoices: Readonly<Record<string, Payment>> = {
  4711: invoice('42.50', 'Port Ellen Harbour', 'DE89370400440532013000', 'Berth 7, November'),
  4712: invoice('118.00', 'Quay Street Chandlery', 'NL91ABNA0417164300', 'Rope and two fenders'),
};

/** The payment in a token response, if it is the one that was asked for and there is no other one. */
export function allowedPayment(asked: Payment, details: unknown): PaidPayment | undefined {
  const [granted, ...others] = Array.isArray(details) ? (details as Partial<PaidPayment>[]) : [];
  if (typeof granted?.id !== 'string' || others.length > 0) return undefined;
  const { id, payee } = granted;
  const isEqual =
    (['type', 'amount', 'currency', 'reference'] as const).every((member) => granted[member] === asked[member]) &&
    payee?.name === asked.payee.name &&
    payee.iban === asked.payee.iban;
  return isEqual ? { ...asked, id } : undefined;
}
