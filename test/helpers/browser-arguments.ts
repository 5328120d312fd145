// Lists Chromium's arguments for every test and picture: without a window, without requests to other servers, and with as few processes as
// possible.

export const browserArguments = [
  '--headless=new',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // a process for each site and a spare one cost a fifth more work; the same-origin policy stays as it is
  '--renderer-process-limit=1',
  '--disable-site-isolation-trials',
  // root cannot set up the browser's own sandbox; the browser opens our own pages only
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
];
