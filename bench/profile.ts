// Takes a sampled profile of a running process while it works, with Node's inspector, and its top entries as text.
import { writeFileSync } from 'node:fs';

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
}

/** @param address of the inspector, ws: @param file path of the profile, for a viewer of flame graphs */
export async function profiled(address: string, file: string, work: () => Promise<unknown>): Promise<string> {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no inspector at ${address}`));
  });
  let last = 0;
  const ask = (method: string, params: object = {}) =>
    new Promise<{ profile?: Profile }>((resolve) => {
      const id = ++last;
      socket.addEventListener('message', function heard({ data }) {
        const answer = JSON.parse(data as string) as { id?: number; result: object };
        if (answer.id !== id) return;
        socket.removeEventListener('message', heard);
        resolve(answer.result);
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  await ask('Profiler.enable');
  await ask('Profiler.setSamplingInterval', { interval: 200 });
  await ask('Profiler.start');
  await work();
  const { profile } = await ask('Profiler.stop');
  socket.close();
  writeFileSync(file, JSON.stringify(profile));
  return topEntries(profile!);
}

/** The locations of the samples, the most frequent first, as shares of the time that was not idle. */
function topEntries({ nodes, samples }: Profile, count = 20): string {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const hits = new Map<string, number>();
  for (const id of samples) {
    const name = names.get(id)!;
    if (name !== '(idle)') hits.set(name, (hits.get(name) ?? 0) + 1);
  }
  const all = [...hits.values()].reduce((sum, each) => sum + each, 0);
  return [...hits]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name, times]) => `  ${((100 * times) / all).toFixed(1).padStart(5)} %  ${name}`)
    .join('\n');
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const place = url.replace(/^file:\/\/.*?\/(?=(src|bench|node_modules)\/)/, '');
  return `${functionName || '(anonymous)'}${place === '' ? '' : `  ${place}:${lineNumber + 1}`}`;
}
