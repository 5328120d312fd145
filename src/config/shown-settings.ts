// Prepares the settings of the environment for people to read: without secrets, and without the credentials of addresses.

const secrets = ['SECRET_KEY', 'ADMIN_PASSWORD', 'AUDIT_STREAM_TOKEN', 'OTEL_EXPORTER_OTLP_HEADERS'];
/** Addresses that may hold credentials, also in their query. */
const addresses = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'SMTP_URL', 'PASSWORD_BREACH_CHECK', 'AUDIT_STREAM'];

/** The settings that hold a secret: each may be in a file, which NAME_FILE names. */
export const secretSettings = [...secrets, ...addresses];

/** The value of a setting that is there and stays secret. */
export const hidden = '';

/** @param given the settings that have a value @returns the values, `hidden` for a secret (security R99) */
export function shownSettings(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.freeze(
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name,
        secrets.includes(name) ? hidden : addresses.includes(name) ? withoutCredentials(name, value) : value,
      ]),
    ),
  );
}

/** Scheme, host, port, and the path of a database; the path of a range service may hold a key (security R99). A value that is no address but a word stays, and one that cannot be read is hidden. */
function withoutCredentials(name: string, value: string): string {
  if (/^[a-z]{1,10}$/.test(value)) return value;
  if (!URL.canParse(value)) return hidden;
  const { protocol, host, pathname } = new URL(value);
  return `${protocol}//${host}${name === 'PASSWORD_BREACH_CHECK' || name === 'AUDIT_STREAM' ? '' : pathname}`;
}
