// Checks what the service has on its machines: space, keys, and the instances that run.
import { statfs, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSecretKey } from '../../crypto/secret-key.ts';
import type { InstancePlace } from '../../repositories/instances/instances.ts';
import type { Store } from '../../repositories/store.ts';
import { check, fault, ok, warning } from './check.ts';

const mebibyte = 1_048_576;

interface SeenSpace {
  folder: string;
  free: number;
  total: number;
}

/** With an external database only that server knows its disk, and this check has nothing to say. */
export const disk = check<SeenSpace | undefined>('disk', {
  async look({ kind, config: { dataDir } }) {
    if (kind === 'external') return undefined;
    const { bavail, blocks, bsize } = await statfs(dataDir);
    return { folder: dataDir, free: bavail * bsize, total: blocks * bsize };
  },
  judge(seen) {
    if (!seen) return [];
    const { folder, free, total } = seen;
    const says = `${Math.floor(free / mebibyte)} MiB are free in ${folder}`;
    const todo = 'Make room, or move DATA_DIR to a larger disk: without space the service answers 503 to every change.';
    if (free < 200 * mebibyte) return [fault(says, todo)];
    return free < 1024 * mebibyte && free < total / 10 ? [warning(says, todo)] : [ok(says)];
  },
});

interface SeenKeys {
  /** The ids of the keys that are set; the first one encrypts. */
  given: readonly string[];
  /** Those that encrypted stored values, and those with which instances encrypt. */
  stored: readonly string[];
  encrypting: readonly string[];
  /** The mode of the file with the key, where there is one. */
  mode: number | undefined;
}

export const secretKey = check<SeenKeys>('secret-key', {
  async look({ store, secretKeys, kind, config }) {
    const [stored, instances] = await Promise.all([store.sealedValues.keyIds(), store.doctorView.instances()]);
    const isFile = kind === 'embedded' && config.secretKeys === undefined;
    return {
      given: secretKeys.map((key) => parseSecretKey(key).id),
      stored,
      encrypting: [...new Set(instances.map(({ secretKeyId }) => secretKeyId))],
      mode: isFile ? (await stat(join(config.dataDir, 'secret-key'))).mode : undefined,
    };
  },
  judge({ given, stored, encrypting, mode }) {
    const missing = stored.filter((id) => !given.includes(id));
    if (missing.length > 0)
      return [
        fault(
          `SECRET_KEY lacks the key ${missing.join(' and ')}, which encrypted stored values`,
          'Add this key to SECRET_KEY, separated by a comma. It is where the backups of the settings are.',
        ),
      ];
    const others = encrypting.filter((id) => id !== given[0]);
    if (others.length > 0)
      return [
        warning(
          `an instance encrypts with the key ${others.join(' and ')}, and this command with ${given[0]}`,
          'Put the same key first in SECRET_KEY of all instances and commands, and start them again.',
        ),
      ];
    if (mode !== undefined && (mode & 0o077) !== 0)
      return [
        warning('other users of this machine can read the file secret-key', 'Run: chmod 600 secret-key, in DATA_DIR.'),
      ];
    const old = given.slice(1).filter((id) => !stored.includes(id));
    if (old.length > 0)
      return [
        warning(
          `no stored value needs the key ${old.join(' and ')} any more`,
          'Remove it from SECRET_KEY an hour after `bin/gatehouse secret-key reencrypt`, and keep it with the older dumps.',
        ),
      ];
    return [ok(`${given[0]} encrypts, and no other key is needed`)];
  },
});

interface SeenInstances {
  issuer: string;
  /** Where an instance of this database answers with another BASE_URL. */
  second: string | undefined;
  running: number;
  /** Of those that run a version which says it. */
  places?: readonly InstancePlace[];
  installed: string;
  version: string | undefined;
}

const addressOf = ({ host, port }: InstancePlace) => `${host}:${port}`;

/** The settings that are not the same at all instances. */
function differing(places: readonly InstancePlace[]): string[] {
  const names = new Set(places.flatMap(({ settings }) => Object.keys(settings)));
  return [...names]
    .filter((name) => places.some(({ settings }) => settings[name] !== places[0]!.settings[name]))
    .sort();
}

async function seen({ doctorView }: Pick<Store, 'doctorView'>) {
  const running = await doctorView.instances();
  return { running: running.length, places: running.flatMap(({ place }) => place ?? []) };
}

export const instances = check<SeenInstances>('instances', {
  look: async ({ store, version, installed, config, secondIssuer }) => ({
    issuer: config.issuer,
    second: await secondIssuer(),
    ...(await seen(store)),
    version,
    installed,
  }),
  judge({ issuer, second, running, places = [], version, installed }) {
    if (second !== undefined)
      return [
        fault(
          `instances serve this database at ${issuer} and at ${second}, so links and tokens of one are wrong at the other`,
          'Stop one of them, and start the other again. For two services, give each a database: DATABASE_URL or DATA_DIR.',
        ),
      ];
    if (running === 0)
      return [fault('no instance runs with this database', 'Start the service, or correct DATABASE_URL or DATA_DIR.')];
    if (version !== undefined && version !== installed)
      return [
        warning(
          `the service has version ${version}, and this command has version ${installed}`,
          'Run the command of the version that serves.',
        ),
      ];
    const others = differing(places);
    const where = [...new Set(places.map(addressOf))].join(', ');
    if (others.length > 0)
      return [
        warning(
          `the instances ${where} differ in ${others.join(', ')}`,
          'Give all of them the same settings, and start the others again. One that was killed counts for 100 seconds.',
        ),
      ];
    return [ok(`${running} running${where && ` (${where})`}, version ${installed}`)];
  },
});
