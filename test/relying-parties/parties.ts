// Lists the relying parties: what each registers, what it needs on the machine, and how it starts.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Party } from './party.ts';

const apacheModule = '/usr/lib/apache2/modules/mod_auth_openidc.so';
const root = process.getuid?.() === 0;

/** A program of this folder that runs on Node. */
function onNode(folder: string, packages: string[]): Pick<Party, 'folder' | 'version' | 'callback' | 'command'> {
  return {
    folder,
    callback: '/callback',
    version: () => packages.map((name) => `${name} ${installedVersion(name)}`).join(', '),
    command: () => ({ program: process.execPath, args: ['application.ts'] }),
  };
}

/** Every parameter of mod_auth_openidc, in a JWT by value. */
const requestObject = {
  crypto: { sign_alg: 'HS256' },
  copy_and_remove_from_request: ['response_mode', 'scope', 'state', 'nonce', 'code_challenge', 'code_challenge_method'],
  copy_from_request: ['client_id', 'redirect_uri', 'response_type'],
  request_object_type: 'request',
};

/** Apache with mod_auth_openidc, which supports every response type. */
function apache(
  responseType: string,
  { responseMode, signsRequests = false }: { responseMode?: 'form_post' | 'fragment'; signsRequests?: boolean } = {},
): Party {
  const directives = [
    `OIDCResponseType "${responseType}"`,
    ...(responseMode ? [`OIDCResponseMode ${responseMode}`] : []),
    ...(signsRequests ? [`OIDCRequestObject "${JSON.stringify(requestObject).replaceAll('"', '\\"')}"`] : []),
    // started as root, it drops its rights
    ...(root ? ['User nobody', 'Group nogroup'] : []),
  ];
  return {
    folder: 'apache',
    name: responseMode ? `Apache (${responseType}, ${responseMode})` : 'Apache',
    version: () =>
      existsSync(apacheModule)
        ? `mod_auth_openidc ${debianVersion('libapache2-mod-auth-openidc')}`
        : { missing: 'the Debian package libapache2-mod-auth-openidc' },
    callback: '/oidc',
    ...(responseMode ? { frontchannelLogout: '/oidc?logout=get' } : { backchannelLogout: '/oidc?logout=backchannel' }),
    responseType,
    signsRequests,
    refreshes: responseType.startsWith('code'),
    command(work) {
      // without root's rights it could not read files in a folder of root's
      chmodSync(work, 0o755);
      cpSync(join(import.meta.dirname, 'apache/htdocs'), join(work, 'htdocs'), { recursive: true });
      writeFileSync(join(work, 'variant.conf'), `${directives.join('\n')}\n`);
      const args = ['-D', 'FOREGROUND', '-f', join(import.meta.dirname, 'apache/httpd.conf')];
      return { program: '/usr/sbin/apache2', args };
    },
  };
}

/** The parties that need only npm's and Debian's packages. */
export const parties: Party[] = [
  apache('code'),
  apache('code id_token', { responseMode: 'form_post', signsRequests: true }),
  apache('id_token token', { responseMode: 'fragment' }),
  {
    ...onNode('openid-client', ['openid-client']),
    name: 'openid-client',
    secretInForm: true,
    refreshes: true,
  },
  {
    ...onNode('oauth4webapi', ['oauth4webapi']),
    name: 'oauth4webapi',
    refreshes: true,
  },
  {
    ...onNode('passport-openidconnect', ['passport-openidconnect', 'passport']),
    name: 'passport-openidconnect',
    secretInForm: true,
    withoutPkce: true,
    refreshes: false,
  },
  {
    ...onNode('passport-openid-client', ['openid-client', 'passport']),
    name: 'passport with openid-client',
    secretInForm: true,
    refreshes: false,
  },
];

function installedVersion(name: string): string {
  const require = createRequire(import.meta.url);
  const folder = require.resolve
    .paths(name)!
    .map((path) => join(path, name))
    .find((path) => existsSync(path));
  return (require(join(folder!, 'package.json')) as { version: string }).version;
}

function debianVersion(name: string): string {
  return execFileSync('dpkg-query', ['-W', '-f', '${Version}', name], { encoding: 'utf8' });
}
