// Reads the answers to refused binds that Active Directory is known to give, from a server that repeats them (RFC 4511 4.2.2).
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createDirectory } from '../../src/outbound/directory.ts';

/** Answers each bind with the result code 49 and this diagnostic message. */
async function refusing(diagnostic: string) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (request) => {
      // SEQUENCE, length, INTEGER of one byte, then the operation: 0x60 is a bind
      if (request[5] !== 0x60) return void socket.end();
      const text = Buffer.from(diagnostic);
      const result = Buffer.concat([Buffer.from([0x0a, 1, 49, 0x04, 0, 0x04, text.length]), text]);
      const body = Buffer.concat([Buffer.from([0x02, 1, request[4]!, 0x61, 0x81, result.length]), result]);
      socket.write(Buffer.concat([Buffer.from([0x30, 0x81, body.length]), body]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `localhost:${(server.address() as { port: number }).port}`;
  return { host, stop: () => void server.close() };
}

test.each(['52e', '525', '530', '532', '533', '701', '773', '775'])(
  'the number %s is read from the diagnostic message (federation 6, MS-ADTS 5.1.1.1.3)',
  async (code) => {
    const server = await refusing(
      `80090308: LdapErr: DSID-0C09044E, comment: AcceptSecurityContext error, data ${code}, v4563\0`,
    );
    const address = { url: `ldap://${server.host}`, startTls: false, bindDn: 'cn=x', bindPassword: 'x' };
    expect(await createDirectory([server.host]).verify(address, 'cn=anna', 'password')).toEqual({
      accepted: false,
      code,
    });
    server.stop();
  },
);
