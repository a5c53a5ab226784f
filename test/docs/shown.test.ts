import { globSync, lstatSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inOneDay } from '../support/in-one-day.ts';
import { makeDocsWorld, type DocsWorld } from './kit/docs-world.ts';
import { listBlocks, readText, root } from './markdown.ts';

let world: DocsWorld;
beforeAll(async () => (world = await makeDocsWorld()));
afterAll(() => world.close());

describe('what the docs show', () => {
  it(
    'of the demo, light and dark, is what it writes',
    inOneDay(async () => {
      const { stdout } = await world.run(['demo', '--dir', mkdtempSync(path.join(world.folder, 'shown-'))]);
      const toLines = (text: string) => text.replace(/127\.0\.0\.1:\d+/, '').split('\n');
      for (const scheme of ['light', 'dark']) {
        const picture = readText(`docs/pictures/terminal-${scheme}.svg`);
        const [prompt, ...shown] = [...picture.matchAll(/<text [^>]*>([^<]*)</g)].map(([, text = '']) =>
          text.replaceAll('\u00a0', ' '),
        );
        expect(prompt).toBe('$ npm run demo');
        const lines = toLines(shown.join('\n'));
        expect(lines.length).toBeGreaterThan(10);
        // The NOTE of a first sync is too wide for the picture, which also leaves out lines with times and folders.
        const written = toLines(stdout).map((line) =>
          lines.find((text) => text !== '' && line.startsWith(text)),
        );
        expect(written.filter((line) => line !== undefined)).toEqual(lines);
      }
    }),
  );

  it('of a command is what it writes', async () => {
    const [block] = listBlocks('docs/contracts.md', 'console');
    const [command = '', ...lines] = block?.text.trimEnd().split('\n') ?? [];
    expect(command).toBe('$ sluice quarantine list');
    const { stdout } = await world.run(['quarantine', 'list']);
    const toShape = (line: string) =>
      line
        .replace(/\d/g, '0')
        .replace(/^[0a-f]{10} /, 'id ')
        .replace(/ +/g, ' ');
    const written = stdout.split('\n').map(toShape);
    expect(lines.filter((line) => line !== '…' && !written.includes(toShape(line)))).toEqual([]);
  });

  it('of a lake is in it', () => {
    const [tree] = listBlocks('docs/lake.md', 'text');
    const entries = [...(tree?.text.matchAll(/^ {2}(\S+)/gm) ?? [])].map(([, name = '']) => name);
    expect(entries).toContain('lake.duckdb');
    const lake = path.join(world.project, 'lake');
    for (const name of entries) expect(() => lstatSync(path.join(lake, name))).not.toThrow();
    const [, link = '', target = ''] = /(current) -> (\S+\/)\S+Z-/.exec(tree?.text ?? '') ?? [];
    const [found = ''] = globSync(path.join(lake, 'prompts_analytics', link, '*/*.parquet'));
    expect(found).toMatch(/date=2026-01-\d\d\/[\w-]+\.parquet$/);
    expect(target).toBe('../_generations/prompts_analytics/');
  });

  it('of the flow names files of the sources', () => {
    const [flow] = listBlocks('docs/architecture.md', 'text');
    const names = [...(flow?.text.matchAll(/^ {3}\S+ +│ {2}([a-z-]+) /gm) ?? [])].map(
      ([, name = '']) => name,
    );
    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((name) => globSync(`src/**/${name}.ts`, { cwd: root }).length === 0)).toEqual([]);
  });
});
