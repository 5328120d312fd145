// Reads a YAML file of another product as plain data, in bounded time and memory (federation FR47).
import { open } from 'node:fs/promises';
import { readForeignYaml, YamlFault } from '../../rules/files/yaml-text.ts';
import { UsageError } from '../command.ts';
import { ofTheFile } from '../file.ts';

const mebibyte = 1024 * 1024;
/** An export has more than a configuration file, and its programs write aliases by themselves. */
const most = { bytes: 16 * mebibyte, aliases: 1000, depth: 32, values: 500_000, expanded: 100_000 };

/** @param tags such as `!Find`, whose values are data @throws UsageError if the file cannot be read, or is no YAML document */
export async function readYaml(file: string, tags: readonly string[] = []): Promise<unknown> {
  try {
    return await readForeignYaml(await readText(file), { most, tags });
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new UsageError(`The file ${file} is no YAML that can be read: line ${error.line}: ${error.message}.`);
  }
}

async function readText(file: string): Promise<string> {
  try {
    const handle = await open(file);
    try {
      if ((await handle.stat()).size > most.bytes)
        throw new UsageError(`The file ${file} has more than ${most.bytes / mebibyte} MiB.`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw ofTheFile(error, file);
  }
}
