// Renders the screen of the sample bank's counter, and payments for both programs of the bank.
import { invoices, type PaidPayment, type Payment } from './payments.ts';
import { frame, type Html, html } from './views.ts';

export type CounterScreen =
  | { state: 'free'; problem?: string }
  | { state: 'waiting'; account: string; customer: string; message: string; payment: Payment }
  | { state: 'paid'; paid: PaidPayment }
  | { state: 'not-paid'; reason: string };

const application = 'Quayside Bank, counter';
const nextForm = (label: string) =>
  html`<form method="post" action="/next"><button class="button">${label}</button></form>`;

/** The amount with its currency, and the payee. */
export const inWords = ({ amount, currency, payee }: Payment): string => `${amount} ${currency} to ${payee.name}`;

export function paymentList(payment: Payment | PaidPayment): Html {
  const rows: [string, string][] = [
    ['Amount', `${payment.amount} ${payment.currency}`],
    ['To', payment.payee.name],
    ['IBAN', payment.payee.iban],
    ['Reference', payment.reference],
    ...('id' in payment ? ([['Payment', payment.id]] as [string, string][]) : []),
  ];
  return html`<dl>
    ${rows.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

export function counterScreen(screen: CounterScreen): string {
  if (screen.state === 'waiting') {
    return frame(
      { application, title: 'Waiting' },
      html`<div class="card">
        <h1>Ask <bdi>${screen.customer}</bdi> to allow the payment</h1>
        <p class="lead">
          The customer opens the account on a phone, at <bdi>${screen.account}</bdi>, and compares the message:
        </p>
        <p><strong id="message">${screen.message}</strong></p>
        ${paymentList(screen.payment)}
        <p class="quiet">On this computer you can <a href="${screen.account}" target="_blank">open the account</a>.</p>
        <p class="quiet" role="status">Waiting for the customer …</p>
        ${nextForm('Cancel')}
      </div>`,
    );
  }
  if (screen.state === 'paid') {
    return frame(
      { application, title: 'Paid' },
      html`<div class="card">
        <h1>Paid: ${inWords(screen.paid)}</h1>
        <p class="lead">The customer allowed exactly this payment.</p>
        ${paymentList(screen.paid)} ${nextForm('Next customer')}
      </div>`,
    );
  }
  if (screen.state === 'not-paid') {
    return frame(
      { application, title: 'Not paid' },
      html`<div class="card">
        <h1>Not paid</h1>
        <p class="lead">${screen.reason}</p>
        ${nextForm('Next customer')}
      </div>`,
    );
  }
  const choices = Object.entries(invoices).map(
    ([number, payment], index) =>
      html`<label
        ><input type="radio" name="invoice" value="${number}" ${index === 0 && html`checked`} /> ${number}:
        ${inWords(payment)}</label
      >`,
  );
  return frame(
    { application, title: 'Welcome' },
    html`<div class="card">
      <h1>Pay an invoice</h1>
      <p class="lead">The clerk starts the payment here. The customer allows it on a phone.</p>
      ${screen.problem !== undefined && html`<div class="notice" role="alert"><p>${screen.problem}</p></div>`}
      <form method="post" action="/pay" class="stack">
        <div class="field">
          <label for="customer">User name of the customer</label>
          <input id="customer" name="customer" type="text" autocomplete="off" autocapitalize="none" required />
        </div>
        <fieldset>
          <legend>Invoice</legend>
          ${choices}
        </fieldset>
        <button class="button primary">Ask the customer</button>
      </form>
    </div>`,
  );
}
