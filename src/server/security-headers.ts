// Names the security headers of every response (security R57, R96).

export function securityHeaders(https: boolean): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'content-security-policy': `default-src 'none'; base-uri 'none'; frame-ancestors 'none'`,
    ...(https && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  };
}
