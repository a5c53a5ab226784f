import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulatorServer, type SimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { listBlocks, readText, root } from './markdown.ts';

const BASE_URL = 'https://analytics.example.com/api/v1';
const programs = ['README.md', 'docs/library.md'].flatMap((file) => listBlocks(file, 'ts'));
const library = path.join(root, 'src/index.ts');

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-examples-'));
let server: SimulatorServer;
/** Two accounts with one key would have the same rows, and are refused. */
const KEYS = {
  ANALYTICS_API_KEY: DEMO_KEY,
  ACME_API_KEY: `${DEMO_KEY}-acme`,
  GLOBEX_API_KEY: `${DEMO_KEY}-globex`,
};

beforeAll(async () => {
  // Programs run at the pace of the API: the less there is to read, the sooner they end.
  const sizes = { historyDays: 4, prompts: 10, mentionsPerDay: 5, categories: 3, productsPerCategory: 10 };
  server = await startSimulatorServer(createSimulator({ keys: Object.values(KEYS), sizes }));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

describe('TypeScript in the docs', () => {
  it('has an example in the README of ten lines', () => {
    const [readme] = programs.filter(({ file }) => file === 'README.md');
    expect(readme?.text.trimEnd().split('\n')).toHaveLength(10);
  });

  it('type-checks against the library', () => {
    const files = programs.map(({ text }, index) => writeProgram(`check-${index}`, text));
    const options = readCompilerOptions();
    const program = ts.createProgram(files, {
      ...options,
      noEmit: true,
      rootDir: '/',
      typeRoots: [path.join(root, 'node_modules/@types')],
      types: ['node'],
      paths: { sluice: [library] },
    });
    const found = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    expect(found).toEqual([]);
  });

  it.concurrent.each(programs.map(({ file, line, text }) => [`${file}:${line}`, text]))(
    '%s runs',
    async (_, text) => {
      const file = writeProgram(
        'program',
        text.replace(BASE_URL, server.baseUrl).replace("'sluice'", `'${pathToFileURL(library).href}'`),
      );
      const env = { PATH: process.env['PATH'], ...KEYS };
      const { stdout } = await promisify(execFile)(process.execPath, [file], {
        cwd: path.dirname(file),
        env,
      });
      expect(stdout).toMatch(/^prompts_analytics (complete )?verified/m);
    },
  );

  it('names every export of the library', () => {
    const source = ts.createSourceFile('index.ts', readText('src/index.ts'), ts.ScriptTarget.Latest, true);
    const names = source.statements
      .filter(ts.isExportDeclaration)
      .flatMap(({ exportClause }) =>
        exportClause !== undefined && ts.isNamedExports(exportClause) ? [...exportClause.elements] : [],
      )
      .map(({ name }) => name.text);
    const page = readText('docs/library.md');
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([]);
  });
});

function writeProgram(name: string, text: string): string {
  const place = mkdtempSync(path.join(folder, `${name}-`));
  mkdirSync(place, { recursive: true });
  writeFileSync(path.join(place, 'package.json'), '{"type":"module"}');
  const file = path.join(place, `${name}.ts`);
  writeFileSync(file, text);
  return file;
}

function readCompilerOptions(): ts.CompilerOptions {
  const file = path.join(root, 'tsconfig.json');
  const { config } = ts.readConfigFile(file, (name) => ts.sys.readFile(name)) as { readonly config: unknown };
  return ts.parseJsonConfigFileContent(config, ts.sys, root).options;
}
