// Lowers the priority of the threads that hash passwords, so that a busy processor still serves requests (security R102).
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

const tasks = '/proc/self/task';
const steps = 10; // of niceness

/**
 * Lowers the priority of the running thread pool, which hashes passwords, if Linux lists the threads by number and name; elsewhere it
 * does nothing. Returns the number of threads whose priority it lowered.
 */
export function letPoolThreadsGiveWay(): number {
  if (process.platform !== 'linux') return 0;
  let count = 0;
  for (const task of listTasks()) {
    try {
      if (!readFileSync(`${tasks}/${task}/comm`, 'utf8').startsWith('libuv-worker')) continue;
      setPriority(Number(task), Math.min(19, getPriority() + steps));
      count++;
    } catch {
      // the thread has ended, or the system does not allow the change
    }
  }
  return count;
}

/** Lists the threads; the list is empty if /proc is not mounted, as in some sandboxes, and the service starts nevertheless. */
function listTasks(): string[] {
  try {
    return readdirSync(tasks);
  } catch {
    return [];
  }
}
