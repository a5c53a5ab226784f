import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

/** A fenced block of a Markdown file. */
export interface Block {
  readonly file: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

/** Every Markdown file of the project, as paths from its root. */
export function listMarkdown(): readonly string[] {
  const ignored = ['.git', '.sluice', 'coverage', 'dist', 'node_modules', 'sluice-demo'];
  const list = (folder: string): readonly string[] =>
    readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      if (ignored.includes(entry.name)) return [];
      const file = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) return list(file);
      return file.endsWith('.md') ? [file] : [];
    });
  return list('.');
}

/** The text of a file, named from the project's root. */
export function readText(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

/** Fenced blocks of a language, or of any. */
export function listBlocks(file: string, language?: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { readonly line: number; readonly language: string; readonly lines: string[] } | undefined;
  for (const [index, line] of readText(file).split('\n').entries()) {
    const fence = /^\s*```(\w*)/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { line: index + 1, language: fence[1] ?? '', lines: [] };
    else {
      blocks.push({ file, line: open.line, language: open.language, text: `${open.lines.join('\n')}\n` });
      open = undefined;
    }
  }
  return language === undefined ? blocks : blocks.filter((block) => block.language === language);
}

/** The text between a heading and the next one of its level or above. */
export function readSection(file: string, heading: string): string {
  const lines = readText(file).split('\n');
  const start = lines.findIndex((line) => line === heading);
  if (start === -1) throw new Error(`${file} has no heading "${heading}"`);
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => (/^#+(?= )/.exec(line)?.[0].length ?? Infinity) <= level);
  return (end === -1 ? rest : rest.slice(0, end)).join('\n');
}

/** Rows of the tables in a text, without their titles, as trimmed cells. */
export function listTableRows(text: string): readonly (readonly string[])[] {
  const lines = text.split('\n').filter((line) => line.trimStart().startsWith('|'));
  const isRule = (line: string | undefined) => line !== undefined && /^\s*\|[\s:|-]+\|$/.test(line);
  return lines
    .filter((line, index) => !isRule(line) && !isRule(lines[index + 1]))
    .map((line) =>
      line
        .trim()
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

/** What a text has in backticks. */
export function listCode(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');
}
