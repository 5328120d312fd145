// Gives the thread that serves everybody more of a busy processor than the threads that hash passwords (security R102).
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

const tasks = '/proc/self/task';
const steps = 10; // of niceness

/**
 * Lowers the priority of the thread pool, where passwords are hashed, once it is running. Linux knows threads by number and
 * name and takes the call for one of them; where that is not so, nothing happens. Returns how many threads gave way.
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
      // it has ended, or the system does not allow it: then it keeps its priority
    }
  }
  return count;
}

/** None where /proc is not mounted, as in some sandboxes: no reason not to start. */
function listTasks(): string[] {
  try {
    return readdirSync(tasks);
  } catch {
    return [];
  }
}
