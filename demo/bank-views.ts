// Renders the sample bank's pages: before and after the sign-in.
import { inWords, paymentList } from './counter-views.ts';
import { invoices, type PaidPayment } from './payments.ts';
import { frame, html } from './views.ts';

/** The user who is signed in. */
export interface Customer {
  name: string;
  /** Of the key that the token is bound to (RFC 7638). */
  thumbprint: string;
}

export type BankNotice =
  | { kind: 'signed-out' }
  | { kind: 'denied' }
  | { kind: 'not-paid' }
  | { kind: 'paid'; paid: PaidPayment }
  | { kind: 'refused' | 'taken'; status: number };

const application = 'Quayside Bank';

function textOf(notice: BankNotice): [string, string] {
  if (notice.kind === 'signed-out') return ['You’re signed out', `${application} no longer knows who you are.`];
  if (notice.kind === 'denied')
    return ['You are not signed in', `You did not allow ${application} to use your account. It got no data about you.`];
  if (notice.kind === 'paid') return [`Paid: ${inWords(notice.paid)}`, 'You allowed exactly this payment:'];
  if (notice.kind === 'not-paid') return ['Nothing was paid', 'You did not allow the payment.'];
  return notice.kind === 'refused'
    ? [
        'The service refused the token',
        `Without its key, the answer was ${notice.status}. A stolen token is worth nothing.`,
      ]
    : ['The service took the token', `Without its key, the answer was ${notice.status}. It should have been 401.`];
}

const steps = [
  'The bank signed the request, and pushed it to the service.',
  'The browser carried only a reference to the request.',
  'The answer came signed, with the code in it.',
  'The bank authenticated with its key when it redeemed the code.',
];

export function bankPage(page: {
  issuer: string;
  customer: Customer | undefined;
  notice: BankNotice | undefined;
}): string {
  const { issuer, customer, notice } = page;
  const [heading, text] = notice ? textOf(notice) : [];
  const said =
    notice &&
    html`<div class="notice" role="status">
      <h2>${heading}</h2>
      <p>${text}</p>
      ${notice.kind === 'paid' && paymentList(notice.paid)}
    </div>`;
  if (!customer) {
    return frame(
      { application, title: notice?.kind === 'signed-out' ? 'Signed out' : 'Welcome' },
      html`<div class="card">
        ${said}
        <h1>Welcome to ${application}</h1>
        <p class="lead">
          A sample bank. Its customers sign in with <bdi>${new URL(issuer).host}</bdi>, by the rules of FAPI 2.0.
        </p>
        <form method="post" action="/sign-in"><button class="button primary">Sign in</button></form>
      </div>`,
    );
  }
  return frame(
    { application, title: 'Signed in' },
    html`<div class="card">
      ${said}
      <h1>Good morning, <bdi>${customer.name}</bdi></h1>
      <ul>
        ${steps.map((step) => html`<li>${step}</li>`)}
        <li>The token is bound to a key with the thumbprint <code>${customer.thumbprint.slice(0, 12)}…</code></li>
      </ul>
      ${Object.entries(invoices).map(
        ([number, payment]) =>
          html`<form method="post" action="/pay">
            <input type="hidden" name="invoice" value="${number}" />
            <button class="button primary">Pay ${inWords(payment)}</button>
          </form>`,
      )}
      <form method="post" action="/use-without-key"><button class="button">Use the token without its key</button></form>
      <form method="post" action="/sign-out"><button class="button">Sign out</button></form>
    </div>`,
  );
}
