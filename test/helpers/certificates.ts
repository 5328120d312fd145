// Makes an authority and a server certificate for a test, with the command openssl.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

/**
 * Writes ca.pem, server.pem and server.key into the folder.
 * @param options.name the host name in the server's certificate
 * @param options.others further names in it
 * @param options.days until it ends; negative for one that has ended
 */
export function makeCertificates(
  folder: string,
  { name = 'localhost', others = [] as readonly string[], days = 2 } = {},
): void {
  const openssl = (...options: string[]) =>
    execFileSync('openssl', options, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const authority = ['-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=Test authority'];
  openssl('req', '-x509', ...newKey, ...authority);
  openssl('req', ...newKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', `/CN=${name}`);
  const names = [name, ...others].map((each) => `DNS:${each}`).join(',');
  writeFileSync(`${folder}/extensions`, `subjectAltName=${names}\n`);
  const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'extensions'];
  openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.pem', '-days', String(days), ...by);
}
