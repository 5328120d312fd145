// Asks the service of a container whether it is ready, at the address that HOST, PORT and BASE_URL say. The image runs it.
const { HOST, PORT, BASE_URL } = process.env;
const host = HOST || 'localhost';
// a name may mean both families, and an address of all interfaces is no address to connect to
const hosts = { '0.0.0.0': ['127.0.0.1'], '::': ['[::1]', '127.0.0.1'], localhost: ['[::1]', '127.0.0.1'] }[host];
const path = new URL(BASE_URL || 'http://localhost').pathname.replace(/\/$/, '');
for (const name of hosts ?? [host.includes(':') ? `[${host}]` : host]) {
  const answer = await fetch(`http://${name}:${PORT || '3000'}${path}/health/ready`).catch(() => undefined);
  if (answer?.ok) process.exit(0);
}
process.exit(1);
export {};
