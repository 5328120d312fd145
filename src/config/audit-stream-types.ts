// Declares the types of the settings of the audit stream: the address of the collector, its token, and the authority of its certificate.
import { readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { z } from 'zod';

const schemes = /^(syslog\+tls|https|otlp\+https):$/;

export const collectorUrl = z.string().refine((url) => {
  if (!URL.canParse(url) || /[^!-~]/.test(url)) return false;
  const { protocol, username, password, hostname, pathname, search, hash } = new URL(url);
  if (!schemes.test(protocol) || hostname === '' || username !== '' || password !== '' || hash !== '') return false;
  return protocol !== 'syslog+tls:' || (/^\/?$/.test(pathname) && search === '');
}, 'must be syslog+tls://HOST:PORT, https://HOST/PATH or otlp+https://HOST/PATH, without user name and password');

export const collectorToken = z.string().regex(/^[!-~]{8,4096}$/, 'must have 8 to 4096 visible ASCII characters');

/** The certificates of a file. */
export const authorityFile = z.string().transform((path, context) => {
  const refuse = (what: string) => {
    context.addIssue({ code: 'custom', message: `must name a file with certificates in PEM, and ${what}` });
    return z.NEVER;
  };
  try {
    const text = readFileSync(path, 'utf8');
    // it throws for what is no certificate
    new X509Certificate(text);
    return text;
  } catch {
    return refuse('the service cannot read one in this file');
  }
});
