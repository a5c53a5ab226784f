import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** One instruction of a Dockerfile, its lines joined. */
export interface Instruction {
  readonly keyword: string;
  /** `--from=build` as `{ from: 'build' }`. */
  readonly flags: Readonly<Record<string, string>>;
  /** What follows the flags, with the stage's and the file's ARGs filled in. */
  readonly text: string;
  /** The words of the exec form (a JSON array); undefined for the shell form. */
  readonly words: readonly string[] | undefined;
}

export interface Stage {
  readonly name: string;
  /** An image, or the name of an earlier stage. */
  readonly base: string;
  readonly instructions: readonly Instruction[];
}

export interface Dockerfile {
  readonly args: Readonly<Record<string, string>>;
  readonly stages: readonly Stage[];
}

/** Reads the image's Dockerfile as a builder would; `given` are build arguments. */
export function readDockerfile(given: Readonly<Record<string, string>> = {}): Dockerfile {
  const lines = joinLines(readFileSync(join(root, 'docker/Dockerfile'), 'utf8'));
  const args: Record<string, string> = {};
  const stages: { name: string; base: string; instructions: Instruction[] }[] = [];
  // An ARG before the first FROM holds for FROM lines alone.
  let scope: Record<string, string> = {};
  for (const line of lines) {
    const stage = stages.at(-1);
    const instruction = parseInstruction(line, stage === undefined ? args : scope);
    if (instruction.keyword === 'FROM') {
      const [base = '', , name = `stage-${stages.length}`] = parseInstruction(line, args).text.split(/\s+/);
      stages.push({ name, base, instructions: [] });
      scope = {};
      continue;
    }
    if (instruction.keyword === 'ARG') {
      const [name = '', ...rest] = instruction.text.split('=');
      (stage === undefined ? args : scope)[name] = given[name] ?? rest.join('=');
    }
    stage?.instructions.push(instruction);
  }
  return { args, stages };
}

/** The instructions of a kind in a stage. */
export function listInstructions(stage: Stage, keyword: string): readonly Instruction[] {
  return stage.instructions.filter((instruction) => instruction.keyword === keyword);
}

/** `A=1 B="two words"` of ENV and LABEL, by name. */
export function readPairs({ text }: Instruction): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g)];
  return Object.fromEntries(pairs.map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']));
}

/** Whether `.dockerignore` lets a path of the clone into the build. The last line that fits decides. */
export function isInContext(path: string): boolean {
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return lines.reduce((included, line) => {
    const pattern = line.replace(/^!/, '');
    const fits = pattern === '*' || path === pattern || path.startsWith(`${pattern}/`);
    return fits ? line.startsWith('!') : included;
  }, true);
}

function joinLines(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function parseInstruction(line: string, scope: Readonly<Record<string, string>>): Instruction {
  const [, keyword = '', flagText = '', rest = ''] = /^(\w+)((?:\s+--\S+=\S+)*)\s*(.*)$/s.exec(line) ?? [];
  const flags = [...flagText.matchAll(/--([\w-]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]);
  // The shell of RUN fills in variables by itself.
  const text = keyword === 'RUN' ? rest : fillIn(rest, scope);
  // HEALTHCHECK has its CMD behind its flags.
  const json = /^(?:CMD\s+)?(\[.*\])$/s.exec(text)?.[1];
  return {
    keyword,
    flags: Object.fromEntries(flags) as Readonly<Record<string, string>>,
    text: text.trim(),
    words: json === undefined ? undefined : (JSON.parse(json) as readonly string[]),
  };
}

function fillIn(text: string, scope: Readonly<Record<string, string>>): string {
  return text
    .replaceAll(/\$\{(\w+):\+([^}]*)\}/g, (_, name: string, word: string) =>
      (scope[name] ?? '') === '' ? '' : word,
    )
    .replaceAll(
      /\$(?:\{(\w+)\}|(\w+))/g,
      (_, braced?: string, bare?: string) => scope[braced ?? bare ?? ''] ?? '',
    );
}
