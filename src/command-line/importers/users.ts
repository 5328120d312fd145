// Makes the lines of users that `user import` accepts: what this service refuses is left out, and in the report (federation FR47).
import { storedHash } from '../../crypto/hash-forms.ts';
import { makesCodes, readCodeSecret } from '../../crypto/one-time-codes.ts';
import { importReasons } from '../../rules/users/import-reasons.ts';
import { loginKey } from '../../rules/users/login-key.ts';
import { isProblem, readUserRecord, type UserRecord } from '../../rules/users/user-record.ts';
import { cut } from './entries.ts';
import { quoted, type Report } from './report.ts';
import { SeenKeys } from './seen-keys.ts';

/** A user as an importer found it; the password hash may have any form. */
export type FoundUser = Omit<UserRecord, 'password_hash'> & { password_hash?: unknown };

export interface UserOptions {
  /** Whether users keep their ids, which applications know. */
  keepSubs: boolean;
  /** Whether administrators stay administrators. */
  admins: boolean;
}

/** What was moved before the users. */
export interface Moved {
  /** Whether a client has the id, in the form in which names are compared. */
  isClient(key: string): boolean;
  hasConnection(id: string): boolean;
  hasRole(clientId: string, role: string): boolean;
}

type Line = Record<string, unknown>;
type Note = (said: string) => void;

/** The most bytes of a line that the import reads. */
const maxLine = 64 * 1024;

/** No address is confirmed that is not there. */
const without = (line: Line, member: string): Line =>
  Object.fromEntries(
    Object.entries(line).filter(([name]) => name !== member && !(member === 'email' && name === 'email_verified')),
  );

/** @returns a function that makes the line of a user; undefined if nothing is left of it */
export function createUserLines(report: Report, { keepSubs, admins }: UserOptions, moved: Moved) {
  /** The names, addresses and ids of the users so far. */
  const keys = new SeenKeys();
  const identities = new SeenKeys();

  function linksOf(links: NonNullable<FoundUser['links']>, note: Note) {
    const connections = new Set<string>();
    return links.filter(({ connection, subject }) => {
      const reason = !moved.hasConnection(connection)
        ? 'this connection is not moved'
        : connections.has(connection)
          ? 'the user has another one to this connection'
          : identities.has(`${connection} ${subject}`)
            ? 'another user has this identity'
            : undefined;
      if (reason !== undefined) note(`The link to ${quoted(connection)} is left out: ${reason}.`);
      else connections.add(connection);
      return reason === undefined;
    });
  }

  /** Without what the service does not do. */
  function lineOf(
    { sub, admin, password_hash: given, totp = [], links = [], roles = {}, ...rest }: FoundUser,
    note: Note,
  ) {
    const hash = given === undefined ? undefined : storedHash(given);
    if (given !== undefined && hash === undefined)
      note('The password hash is of an unknown kind, or is too costly. The user needs a link for a new password.');
    const codes = totp.filter(({ secret, algorithm, digits, period }) => {
      const fits = makesCodes(algorithm, digits, period) && readCodeSecret(secret) !== undefined;
      if (!fits)
        note('An authenticator app is left out: the service makes codes of six digits, every 30 seconds, by SHA-1.');
      return fits;
    });
    const named = codes.map((code) => (code.name === undefined ? code : { ...code, name: cut(code.name, 60) }));
    const kept = linksOf(links, note);
    const held = Object.entries(roles)
      .map(([id, ofClient]): [string, string[]] => [id, ofClient.filter((role) => moved.hasRole(id, role))])
      .filter(([, ofClient]) => ofClient.length > 0);
    if (admin && !admins) note('The user is an administrator there, and none here without --with-admins.');
    return {
      ...(sub !== undefined && keepSubs && { sub }),
      ...rest,
      ...(admin && admins && { admin }),
      ...(hash !== undefined && { password_hash: hash }),
      ...(named.length > 0 && { totp: named }),
      ...(kept.length > 0 && { links: kept }),
      ...(held.length > 0 && { roles: Object.fromEntries(held) }),
    };
  }

  /** No two users have one name, address or id, whatever its case (security R153). */
  function withOwnKeys(found: Line, note: Note): Line | undefined {
    let line = found;
    const key = (member: string) => (typeof line[member] === 'string' ? loginKey(line[member]) : undefined);
    const [name, address, sub] = [key('username')!, key('email'), key('sub')];
    // a token names a user and a client in one member: no user has the id of a client (security R153)
    if (moved.isClient(name) || (sub !== undefined && moved.isClient(sub))) {
      note(
        'A client has this name or id. The user is left out: give the client another client_id, or the user another name.',
      );
      return undefined;
    }
    if (keys.has(name)) {
      note('Another user has this name, perhaps in another case, or as an address or an id. The user is left out.');
      return undefined;
    }
    if (sub !== undefined && sub !== name && keys.has(sub)) {
      note('Another user has this id, perhaps as a name. The user is left out.');
      return undefined;
    }
    const own = new Set([name, ...(sub === undefined ? [] : [sub])]);
    if (address !== undefined && !own.has(address) && (keys.has(address) || moved.isClient(address))) {
      note(`The address ${quoted(String(line['email']))} belongs to another user. It is left out.`);
      line = without(line, 'email');
    } else if (address !== undefined) own.add(address);
    if (Buffer.byteLength(JSON.stringify(line)) >= maxLine) {
      note('The line of the user has more than 64 KiB. The user is left out.');
      return undefined;
    }
    for (const one of own) keys.add(one);
    for (const { connection, subject } of (line['links'] ?? []) as NonNullable<FoundUser['links']>)
      identities.add(`${connection} ${subject}`);
    return line;
  }

  return (found: FoundUser): Line | undefined => {
    const note: Note = (said) => report.note(`user ${found.username}`, said);
    let line: Line = lineOf(found, note);
    for (let read = readUserRecord(line); isProblem(read); read = readUserRecord(line)) {
      const [member = ''] = read.column.split('.');
      const isVital = member === 'username' || member === 'sub' || !Object.hasOwn(line, member);
      note(`${quoted(read.column)} ${importReasons[read.reason]}. ${isVital ? 'The user' : 'This'} is left out.`);
      if (isVital) return undefined;
      line = without(line, member);
    }
    return withOwnKeys(line, note);
  };
}
