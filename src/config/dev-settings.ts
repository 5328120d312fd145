// Makes the settings of `gatehouse dev`: a database of its own, relaxed limits, and nothing that leads to another service or its data (delivery 5).

type Variables = Readonly<Record<string, string | undefined>>;

/** What `gatehouse dev` decides itself. */
export interface DevOptions {
  port: number;
  host: string;
  /** The folder of the throwaway database. */
  dataDir: string;
  adminPassword: string;
}

/** Settings of another service, or of its data: the shell of a developer may have them. */
const foreign =
  /^(PORT|HOST|WORKERS|ALLOW_HTTP|DATABASE_.*|DATA_DIR|SECRET_KEY|ADMIN_.*|SMTP_URL|CONFIG_.*|AUDIT_STREAM.*|OTEL_.*|MTLS_.*|CLIENT_CERT_.*)(_FILE)?$/;

/** Settings that a test rarely wants otherwise; the environment may say otherwise. */
const relaxed = {
  REGISTRATION_APPROVAL: 'automatic',
  PASSWORD_BREACH_CHECK: 'off',
  PASSWORD_MIN_LENGTH: '1',
};

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** Why the settings of the environment do not fit: the name of one, and what completes the sentence "The setting NAME …". */
export function devConflict(variables: Variables): readonly [name: string, problem: string] | undefined {
  const database = ['DATABASE_URL', 'DATABASE_URL_FILE'].find((name) => variables[name]);
  if (database !== undefined)
    return [database, 'is set, and bin/gatehouse dev only ever uses a database of its own: unset it'];
  const { BASE_URL: address } = variables;
  return isAddress(address) && !loopback.includes(new URL(address).hostname)
    ? ['BASE_URL', 'is not on a loopback host, where bin/gatehouse dev has to stay: unset it']
    : undefined;
}

/** vitest sets BASE_URL to a path, which is no address of a provider. */
const isAddress = (address: string | undefined): address is string => address !== undefined && URL.canParse(address);

/** @param limits the names of all settings */
export function devVariables(
  variables: Variables,
  { port, host, dataDir, adminPassword }: DevOptions,
  names: readonly string[],
): Record<string, string | undefined> {
  const limits = names.filter((name) => /^LIMIT_(?!SOCKETS)/.test(name)).map((name) => [name, '0']);
  const kept = Object.entries(variables).filter(
    ([name, value]) => !foreign.test(name) && value && (name !== 'BASE_URL' || isAddress(value)),
  );
  return {
    ...Object.fromEntries(limits),
    ...relaxed,
    ...Object.fromEntries(kept),
    PORT: String(port),
    HOST: host,
    DATA_DIR: dataDir,
    ADMIN_PASSWORD: adminPassword,
  };
}
