import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { listBlocks, listMarkdown, readText, root } from './markdown.ts';

const files = listMarkdown();

describe('links', () => {
  it.each(files)('of %s lead somewhere', (file) => {
    const broken = listLinks(file).filter((link) => !resolves(file, link));
    expect(broken).toEqual([]);
  });

  it('reach every page of docs/ from the README', () => {
    const reached = new Set(['README.md']);
    for (const file of reached) {
      for (const link of listLinks(file)) {
        const target = path.posix.join(path.posix.dirname(file), link.split('#')[0] ?? '');
        if (target.endsWith('.md')) reached.add(target);
        // A link to a folder shows its files.
        for (const page of files)
          if (path.posix.dirname(page) === target.replace(/\/$/, '')) reached.add(page);
      }
    }
    const pages = files.filter((file) => !file.startsWith('test/') && file !== 'bench/README.md');
    expect(pages.filter((file) => !reached.has(file))).toEqual([]);
  });
});

describe('decisions', () => {
  it.each(files.filter((file) => file.startsWith('docs/decisions/')))('%s has its four parts', (file) => {
    expect(path.basename(file)).toMatch(/^\d{8}-[a-z0-9-]+\.md$/);
    const headings = readText(file).match(/^## .+$/gm);
    expect(headings).toEqual(['## Summary', '## Context', '## Decision', '## Consequences']);
  });
});

describe('the README', () => {
  it('shows the two commands on its first screen, and is short', () => {
    const lines = readText('README.md').split('\n');
    const screen = lines.slice(0, 24).join('\n');
    expect(screen).toContain('npm ci && npm run demo');
    expect(screen).toContain('npm cit');
    expect(lines.length).toBeLessThan(120);
  });
});

function listLinks(file: string): readonly string[] {
  const blocks = listBlocks(file).map(({ text }) => text);
  const prose = blocks
    .reduce((text, block) => text.replace(block, ''), readText(file))
    .replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/(?:\]\(|src(?:set)?=")([^)"\s]+)[)"]/g)]
    .map((match) => match[1] ?? '')
    .filter((link) => !/^[a-z]+:/.test(link));
}

function resolves(file: string, link: string): boolean {
  const [target = '', anchor] = link.split('#');
  const found = target === '' ? file : path.posix.join(path.posix.dirname(file), target);
  const absolute = path.join(root, found);
  if (!existsSync(absolute)) return false;
  if (anchor === undefined) return true;
  return statSync(absolute).isFile() && listAnchors(found).includes(anchor);
}

function listAnchors(file: string): readonly string[] {
  return [...readText(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
