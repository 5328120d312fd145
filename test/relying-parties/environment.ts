// Reads the environment of a party that runs on Node: its client, and where it listens.
function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const issuer = setting('ISSUER');
export const clientId = setting('CLIENT_ID');
export const clientSecret = setting('CLIENT_SECRET');
export const port = Number(setting('PORT'));
export const url = `http://127.0.0.1:${port}`;
