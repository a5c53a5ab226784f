import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { configReference } from './config-reference.ts';
import { listConfigKeys } from './list-config-keys.ts';

const TABLE = /(\| key \| type \| default \| meaning \|\n\| --- .*\n)(?:\|.*\n)+/g;

/** `docs/configuration.md` with its tables of keys rewritten: keys from the schema, words from the reference. */
export function writeConfigPage(): Promise<string> {
  const page = readFileSync(join(import.meta.dirname, '../docs/configuration.md'), 'utf8');
  const written = page.replaceAll(TABLE, (_, head: string, at: number) => {
    const sections = [
      ...(
        page
          .slice(0, at)
          .match(/^## .*$/gm)
          ?.at(-1) ?? ''
      ).matchAll(/`(\w+)`/g),
    ];
    const rows = sections.flatMap(([, section = '']) => listRows(section));
    return head + rows.map((row) => `${row}\n`).join('');
  });
  return Promise.resolve(written);
}

function listRows(section: string): readonly string[] {
  const keys = listConfigKeys();
  return keys
    .filter((key) => key === section || key.startsWith(`${section}.`))
    .flatMap((key) => {
      const reference = Object.hasOwn(configReference, key) ? configReference[key] : undefined;
      if (reference === undefined) {
        // A map without words of its own is described by its keys.
        if (keys.some((other) => other.startsWith(`${key}.`))) return [];
        throw new Error(`tools/config-reference.ts does not say what ${key} means`);
      }
      const { type, fallback, meaning } = reference;
      const cells = [`\`${key}\``, type, fallback, meaning].map((cell) => cell.replaceAll('|', '\\|'));
      return [`| ${cells.join(' | ')} |`.replace('|  |', '| |')];
    });
}
