// Declares a type of authorization details: one payment, with its amount and its payee.

export const paymentType = 'payment_initiation';

/** A payment as a client asks for it. */
export const payment = {
  type: paymentType,
  amount: { value: '123.50', currency: 'EUR' },
  payee: { name: 'Merchant A', iban: 'DE89370400440532013000' },
};

const text = { type: 'string', maxLength: 140 };

/** What an administrator creates. */
export const paymentDeclaration = {
  type: paymentType,
  schema: {
    type: 'object',
    required: ['amount', 'payee'],
    properties: {
      amount: {
        type: 'object',
        required: ['value', 'currency'],
        properties: { value: { type: 'string', maxLength: 20 }, currency: { type: 'string', format: 'currency' } },
      },
      payee: {
        type: 'object',
        required: ['name', 'iban'],
        properties: { name: text, iban: { type: 'string', format: 'iban' } },
      },
      note: text,
      limit: { type: 'number', minimum: 0 },
      on: { type: 'string', format: 'date' },
      tags: { type: 'array', maxItems: 3, items: text },
    },
  },
  text: {
    en: 'Pay {amount.value} {amount.currency} to {payee.name}',
    de: '{amount.value} {amount.currency} an {payee.name} zahlen',
  },
};

/** The parameter. */
export const asDetails = (...details: object[]) => ({ authorization_details: JSON.stringify(details) });
