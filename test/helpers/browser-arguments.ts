// How Chromium is started for every test and picture: without a window, without a word to anybody else, and with as few processes as it can do with.

export const browserArguments = [
  '--headless=new',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // a process for each site and one to spare take a fifth more work; what is one origin and what another stays as it is
  '--renderer-process-limit=1',
  '--disable-site-isolation-trials',
  // the browser's own sandbox cannot be set up by root; it visits our own pages only
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
];
