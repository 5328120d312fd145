// Runs Debian's simplesamlphp by the server of PHP, as a service provider and as an identity provider at once.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyPair } from '../helpers/saml-application.ts';

export interface SimpleSaml {
  base: string;
  spEntityId: string;
  idpEntityId: string;
  /** Lets it know another side. */
  trust(metadata: string): void;
  stop(): void;
}

const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';

/** @param peer the entity ID of the identity provider at which its service provider signs users in */
export async function startSimpleSaml(
  work: string,
  { privateKey, certificate }: KeyPair,
  peer: string,
  port: number,
): Promise<SimpleSaml> {
  const base = `http://127.0.0.1:${port}`;
  for (const name of ['cert', 'metadata', 'log', 'data', 'tmp', 'sessions'])
    mkdirSync(join(work, name), { recursive: true });
  const [spEntityId, idpEntityId] = [`${base}/the-sp`, `${base}/the-idp`];
  const php = (name: string, text: string) => writeFileSync(join(work, name), `<?php\n${text}\n`);
  writeFileSync(join(work, 'cert/peer.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(work, 'cert/peer.pem'), certificate);
  let known = 0;
  const sources = () =>
    Array.from({ length: known }, (_, n) => `['type' => 'xml', 'file' => '${work}/known-${n}.xml']`);
  const configure = () =>
    php(
      'config.php',
      `$config = ['baseurlpath' => '${base}/', 'certdir' => '${work}/cert/', 'loggingdir' => '${work}/log/', 'datadir' => '${work}/data/',
  'tempdir' => '${work}/tmp', 'metadatadir' => '${work}/metadata', 'secretsalt' => 'of-a-test', 'auth.adminpassword' => 'of-a-test',
  'technicalcontact_email' => 'na@example.org', 'enable.saml20-idp' => true, 'timezone' => 'UTC', 'logging.handler' => 'file', 'logging.level' => 7,
  'module.enable' => ['exampleauth' => true, 'core' => true, 'saml' => true], 'store.type' => 'phpsession', 'session.cookie.secure' => false,
  'session.phpsession.savepath' => '${work}/sessions', 'session.phpsession.cookiename' => 'SimpleSAML', 'language.default' => 'en',
  'showerrors' => true, 'errorreporting' => false,
  'metadata.sources' => [['type' => 'flatfile'], ${sources().join(', ')}]];`,
    );
  php(
    'authsources.php',
    `$config = ['gatehouse' => ['saml:SP', 'entityID' => '${spEntityId}', 'idp' => '${peer}', 'privatekey' => 'peer.key', 'certificate' => 'peer.pem',
  'signature.algorithm' => '${rsaSha256}', 'sign.authnrequest' => true, 'sign.logout' => true, 'redirect.sign' => true, 'redirect.validate' => true,
  'NameIDPolicy' => ['Format' => '${persistent}', 'AllowCreate' => true]],
  'users' => ['exampleauth:UserPass', 'ann:of-a-test' => ['uid' => ['ssp-ann'], 'givenName' => ['Ann'], 'groups' => ['staff']]]];`,
  );
  php(
    'metadata/saml20-idp-hosted.php',
    `$metadata['${idpEntityId}'] = ['host' => '__DEFAULT__', 'privatekey' => 'peer.key', 'certificate' => 'peer.pem', 'auth' => 'users',
  'signature.algorithm' => '${rsaSha256}', 'redirect.sign' => true, 'redirect.validate' => true, 'validate.authnrequest' => true,
  'saml20.sign.response' => true, 'saml20.sign.assertion' => true, 'NameIDFormat' => '${persistent}',
  'authproc' => [3 => ['class' => 'saml:AttributeNameID', 'attribute' => 'uid', 'Format' => '${persistent}']]];`,
  );
  configure();
  const root = '/usr/share/simplesamlphp/www';
  const server = spawn(
    'php',
    ['-d', 'display_errors=0', '-d', 'opcache.enable=0', '-S', `127.0.0.1:${port}`, '-t', root],
    {
      env: { ...process.env, SIMPLESAMLPHP_CONFIG_DIR: work },
      stdio: 'ignore',
    },
  );
  for (;;) {
    const up = await fetch(`${base}/saml2/idp/metadata.php`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (up) break;
    if (server.exitCode !== null) throw new Error(`PHP ended with ${server.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    base,
    spEntityId,
    idpEntityId,
    trust(metadata) {
      writeFileSync(join(work, `known-${known}.xml`), metadata);
      known += 1;
      configure();
    },
    stop: () => server.kill(),
  };
}
