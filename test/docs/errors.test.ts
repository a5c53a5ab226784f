import { readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import * as errors from '../../src/model/errors.ts';
import { listCode, listTableRows, readSection, readText, root } from './markdown.ts';

const rows = listTableRows(readSection('docs/errors.md', '## Codes')).map(([code = '', exits = '']) => ({
  code: listCode(code)[0] ?? '',
  exitCodes: exits.split(',').map((text) => Number(text)),
}));
const exitCodes = listTableRows(readSection('docs/errors.md', '## Exit codes'))
  .flatMap(([codes = '']) => codes.split(','))
  .map((text) => Number(text));

describe('docs/errors.md', () => {
  it('lists every code, once, and no other', () => {
    expect(rows.map(({ code }) => code).toSorted()).toEqual([...errors.errorCodes].toSorted());
  });

  it('names exit codes that it explains', () => {
    expect(rows.flatMap((row) => row.exitCodes.filter((code) => !exitCodes.includes(code)))).toEqual([]);
  });

  it('gives each code the exit code of the errors that carry it', () => {
    const documented = new Map(rows.map((row) => [row.code, row.exitCodes]));
    const wrong = listThrownCodes()
      .filter(({ code, exits }) => !exits.some((exit) => documented.get(code)?.includes(exit)))
      .map(({ file, code, exits }) => `${file}: ${code} has exit code ${exits.join(' or ')}`);
    expect(wrong).toEqual([]);
  });

  it('has the exit codes that the README names', () => {
    const named = [...readText('README.md').matchAll(/[Ee]xit code (\d+)(?: means [^,;]+, (\d+))?/g)].flatMap(
      ([, ...codes]) => codes.filter((code) => code !== undefined).map(Number),
    );
    expect([...new Set(named)].toSorted()).toEqual([0, 75]);
    expect(exitCodes).toEqual(expect.arrayContaining(named));
  });
});

/** Codes that a `new SomeError(…, { code: '…' })` of the sources names, with the exit codes of its class. */
function listThrownCodes() {
  const files = ['src', 'state'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => path.posix.join(folder, file)),
  );
  return files.flatMap((file) => {
    const found: { file: string; code: string; exits: readonly number[] }[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isNewExpression(node)) {
        const exits = findExitCodes(node.expression.getText());
        const code = node.arguments?.flatMap(readCode)[0];
        if (exits !== undefined && code !== undefined) found.push({ file, code, exits });
      }
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, readText(file), ts.ScriptTarget.Latest, true));
    return found;
  });
}

function readCode(argument: ts.Expression): readonly string[] {
  if (!ts.isObjectLiteralExpression(argument)) return [];
  return argument.properties.flatMap((property) =>
    ts.isPropertyAssignment(property) &&
    property.name.getText() === 'code' &&
    ts.isStringLiteral(property.initializer)
      ? [property.initializer.text]
      : [],
  );
}

function findExitCodes(name: string): readonly number[] | undefined {
  if (name === 'PublishError') return [2, 6];
  if (name === 'AbortedError') return [130, 143];
  const found: unknown = Object.entries(errors).find(([exported]) => exported === name)?.[1];
  if (typeof found !== 'function' || !(found.prototype instanceof errors.SyncError)) return undefined;
  const Class = found as new (message: string, options: errors.ErrorOptions) => errors.SyncError;
  return [new Class('', { code: 'bug', hint: '' }).exitCode];
}
