// Writes the log to standard error as JSON lines, which stay whole when several processes write them.
import { fstatSync } from 'node:fs';
import pino from 'pino';

export const standardError = 2;
/** Bytes that a pipe keeps together in one write (POSIX, PIPE_BUF on Linux). */
const pipeWrite = 4096;
/** A file keeps any number together; larger writes than this cost no less per line. */
const fileWrite = 16_384;
/** Milliseconds until a line is written, at most: it waits for others, because a write costs more than a line. */
const maxWait = 100;

/** Writes several lines at once. pino writes the waiting ones when the process ends. */
export function openJsonLog(): pino.DestinationStream {
  const maxWrite = fstatSync(standardError).isFile() ? fileWrite : pipeWrite;
  const destination = pino.destination({ dest: standardError, sync: false, maxWrite, periodicFlush: maxWait });
  const write = destination.write.bind(destination);
  const flush = destination.flush.bind(destination);
  const flushSync = destination.flushSync.bind(destination);
  let lines = '';
  let size = 0;
  // collected here, because the destination would measure all waiting lines again with each new line
  const passOn = () => {
    if (size > 0) write(lines);
    lines = '';
    size = 0;
  };
  destination.write = (line) => {
    const bytes = Buffer.byteLength(line);
    if (size + bytes > maxWrite) passOn();
    lines += line;
    size += bytes;
    return true;
  };
  destination.flush = (done) => {
    passOn();
    flush(done);
  };
  destination.flushSync = () => {
    passOn();
    flushSync();
  };
  return destination;
}
