// Lets tests that need the same port or folder of the machine run one after the other, also those of two checkouts.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Waits until no other process has the port, which stands for what is shared; the turn ends when the server is closed. */
export async function takeTurn(port: number): Promise<Server> {
  for (;;) {
    const turn = createServer().listen({ port, host: '127.0.0.1', exclusive: true });
    const taken = await once(turn, 'listening').then(
      () => true,
      () => false,
    );
    if (taken) return turn;
    await delay(200);
  }
}
