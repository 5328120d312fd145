// Makes the secrets and signatures of webhook messages (Standard Webhooks 1.0).
import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';

export const makeWebhookSecret = (): string => prefix + randomBytes(32).toString('base64');

/** Whether a text is a secret of 24 to 64 bytes in base64, as Standard Webhooks demands. */
export function isWebhookSecret(secret: string): boolean {
  const encoded = secret.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64');
  return secret.startsWith(prefix) && bytes.toString('base64') === encoded && bytes.length >= 24 && bytes.length <= 64;
}

/** The header webhook-signature: one signature for each secret. @param timestamp in seconds since 1970 */
export const webhookSignature = (secrets: readonly string[], id: string, timestamp: number, body: string): string =>
  secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(prefix.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
