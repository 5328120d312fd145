// Says when browsers reach the service by http over a network, which ALLOW_HTTP admits for a trial without a certificate.

/** Whether an address is http on a host that is no loopback. */
export function isUnencrypted(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

/** The line for the operator, while it is so. */
export const trialWarning = (issuer: string): string | undefined =>
  isUnencrypted(issuer)
    ? `ALLOW_HTTP is on, and BASE_URL is ${issuer}: passwords, cookies and tokens pass the network without encryption, and passkeys are off. This is for a trial only: get a certificate, and remove ALLOW_HTTP.`
    : undefined;
