// Declares the part of autocannon that the benchmark uses; the package has no types.
declare module 'autocannon' {
  interface Options {
    url: string;
    connections: number;
    /** In seconds. */
    duration: number;
    requests: { method: string; path: string; headers?: Record<string, string>; body?: string }[];
  }
  interface Result {
    '2xx': number;
    non2xx: number;
    errors: number;
    /** In seconds. */
    duration: number;
    /** In milliseconds. */
    latency: { p50: number; p99: number };
  }
  export default function autocannon(options: Options): Promise<Result>;
}
