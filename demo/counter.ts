// Runs the counter of the sample bank: a clerk starts a payment, and the customer allows it on a phone, in the account (OpenID Connect CIBA).
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as oidc from 'openid-client';
import { type CounterScreen, counterScreen } from './counter-views.ts';
import { allowedPayment, invoices, type PaidPayment, type Payment, paymentType } from './payments.ts';
import { type Approve, registered, type SecretRegistration } from './registration.ts';
import { listen, readForm, redirect, send } from './web.ts';

export interface CounterOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
  /** The registration of an earlier start; used again while the service knows it. */
  registration?: SecretRegistration | undefined;
  /** Called when a registration waits for an administrator, who also trusts it to ask every user (`ciba_trusted`). */
  approve: Approve;
}

export interface Counter {
  url: string;
  registration: SecretRegistration;
  stop(): Promise<void>;
}

const clientName = 'Quayside Bank, counter';

/** @throws the system's error when the port is taken, or openid-client's when the service refuses */
export async function startCounter(options: CounterOptions): Promise<Counter> {
  const { issuer } = options;
  /** A counter has one screen, for its clerk. */
  let screen: CounterScreen = { state: 'free' };
  /** Ends the polls. */
  let polls = new AbortController();
  let provider: oidc.Configuration;
  const { url, stop } = await listen({
    name: clientName,
    port: options.port,
    issuer,
    routes: { 'GET /': show, 'POST /pay': pay, 'POST /next': next },
    explain,
  });
  try {
    const registration = await register(options, url);
    provider = await oidc.discovery(
      new URL(issuer),
      registration.client_id,
      undefined,
      oidc.ClientSecretBasic(registration.client_secret),
      { execute: [oidc.allowInsecureRequests], timeout: 10 },
    );
    return {
      url,
      registration,
      async stop() {
        polls.abort();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }

  function show(_request: IncomingMessage, response: ServerResponse): void {
    // the screen changes when the customer has decided elsewhere
    if (screen.state === 'waiting') response.setHeader('refresh', '2');
    send(response, 200, counterScreen(screen));
  }

  async function pay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await readForm(request);
    const customer = form.get('customer')?.trim() ?? '';
    const number = form.get('invoice') ?? '';
    const payment = invoices[number];
    polls.abort();
    if (customer === '' || !payment) {
      screen = { state: 'free', problem: 'Enter the user name of the customer, and choose an invoice.' };
      return redirect(response, '/');
    }
    polls = new AbortController();
    const { signal } = polls;
    const message = `Invoice ${number}`;
    try {
      const asked = await oidc.initiateBackchannelAuthentication(provider, {
        scope: 'openid',
        login_hint: customer,
        binding_message: message,
        authorization_details: JSON.stringify([payment]),
      });
      // the clerk has started another payment since, or left this one
      if (signal.aborted) return redirect(response, '/');
      screen = { state: 'waiting', account: `${issuer}/account/requests`, customer, message, payment };
      waitForCustomer(asked, payment, signal).then(
        (paid) => {
          if (!signal.aborted) screen = { state: 'paid', paid };
        },
        (error: unknown) => {
          if (!signal.aborted) screen = { state: 'not-paid', reason: reasonOf(error) };
        },
      );
    } catch (error) {
      if (!(error instanceof oidc.ResponseBodyError)) throw error;
      if (!signal.aborted) screen = { state: 'not-paid', reason: reasonOf(error) };
    }
    redirect(response, '/');
  }

  /** Polls until the customer has decided. @returns the payment that the customer allowed */
  async function waitForCustomer(
    asked: oidc.BackchannelAuthenticationResponse,
    payment: Payment,
    signal: AbortSignal,
  ): Promise<PaidPayment> {
    const tokens = await oidc.pollBackchannelAuthenticationGrant(provider, asked, undefined, { signal });
    const paid = allowedPayment(payment, tokens['authorization_details']);
    if (!paid) throw new Error('The service answered with another payment');
    return paid;
  }

  function next(_request: IncomingMessage, response: ServerResponse): void {
    polls.abort();
    screen = { state: 'free' };
    redirect(response, '/');
  }
}

const register = (options: CounterOptions, url: string): Promise<SecretRegistration> =>
  registered(
    options.registration,
    { ...options, url },
    {
      client_name: clientName,
      client_uri: url,
      logo_uri: `${url}/logo.svg`,
      redirect_uris: [],
      response_types: [],
      grant_types: ['urn:openid:params:grant-type:ciba'],
      authorization_details_types: [paymentType.type],
      scope: 'openid',
    },
  );

function reasonOf(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError && error.error === 'access_denied')
    return 'The customer did not allow the payment.';
  if (error instanceof oidc.ResponseBodyError && error.error === 'expired_token')
    return 'The customer did not answer in time.';
  return `The service said: ${explain(error)}.`;
}

function explain(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError) return error.error_description ?? error.error;
  return error instanceof Error ? error.message : String(error);
}
