// Writes the log to standard error: for people on a terminal, elsewhere as JSON lines that stay whole when several processes write them.
import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';
import pino from 'pino';
import { openTerminalLog } from './terminal-log.ts';

const standardError = 2;
/** Bytes that a pipe takes in one piece (POSIX, PIPE_BUF on Linux). */
const atomicWrite = 4096;
/** A file takes any number in one piece; of more than these a write costs no less for each line. */
const fileWrite = 16_384;
/** Milliseconds that a line waits at most for others, with which it is written: a write costs more than a line. */
const interval = 100;

export function openLog(): pino.DestinationStream {
  return isatty(standardError) ? openTerminalLog() : openJsonLog();
}

/** Writes several lines together; the end of the process writes those that still wait. */
function openJsonLog(): pino.DestinationStream {
  const most = fstatSync(standardError).isFile() ? fileWrite : atomicWrite;
  const destination = pino.destination({ dest: standardError, sync: false, maxWrite: most, periodicFlush: interval });
  const write = destination.write.bind(destination);
  const flush = destination.flush.bind(destination);
  const flushSync = destination.flushSync.bind(destination);
  let lines = '';
  let size = 0;
  // Collected here, since the destination measures all that waits again for each line that comes.
  const handOn = () => {
    if (size > 0) write(lines);
    lines = '';
    size = 0;
  };
  destination.write = (line) => {
    const bytes = Buffer.byteLength(line);
    if (size + bytes > most) handOn();
    lines += line;
    size += bytes;
    return true;
  };
  destination.flush = (done) => {
    handOn();
    flush(done);
  };
  destination.flushSync = () => {
    handOn();
    flushSync();
  };
  return destination;
}
