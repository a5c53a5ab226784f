import { describe, expect, it } from 'vitest';
import { countOption, flagOption } from '../../../src/cli/options/option-kinds.ts';
import { resolveValues } from '../../../src/cli/options/resolve-values.ts';
import type { RawFlags } from '../../../src/cli/options/resolve-values.ts';
import { NOW_MS } from '../support/reports.ts';

const options = {
  maxRows: countOption({ flag: 'max-rows', summary: '', group: '', example: '10' }),
  force: flagOption({ flag: 'force', summary: '', group: '' }),
};

function resolve(flags: RawFlags, env: NodeJS.ProcessEnv) {
  return resolveValues(options, { flags, env, nowMs: NOW_MS });
}

describe('resolveValues', () => {
  it('reads flags, then their twins', () => {
    expect(resolve({ 'max-rows': '5' }, { SLUICE_FORCE: '1' })).toEqual({ maxRows: 5, force: true });
  });

  it('lets the flag win, also one that says no', () => {
    const env = { SLUICE_MAX_ROWS: '7', SLUICE_FORCE: 'true' };
    expect(resolve({ 'max-rows': '5', force: false }, env)).toEqual({ maxRows: 5, force: false });
  });

  it('does not look at a twin whose flag is given', () => {
    expect(resolve({ 'max-rows': '5' }, { SLUICE_MAX_ROWS: 'banana' })).toMatchObject({ maxRows: 5 });
  });

  it('takes an empty variable as unset and leaves unknown ones alone', () => {
    const env = { SLUICE_MAX_ROWS: ' ', SLUICE_FORCE: '', SLUICE_OF_OTHERS: 'x' };
    expect(resolve({}, env)).toEqual({ maxRows: undefined, force: undefined });
  });

  it('names the variable that holds a wrong value, with a right one', () => {
    expect(() => resolve({}, { SLUICE_MAX_ROWS: 'banana' })).toThrowError(
      /^SLUICE_MAX_ROWS must be .*"banana"$/,
    );
    expect(() => resolve({}, { SLUICE_MAX_ROWS: 'banana' })).toThrowError(
      expect.objectContaining({ exitCode: 2, hint: 'For example: SLUICE_MAX_ROWS=10' }) as Error,
    );
  });

  it('names the flag that holds a wrong value or none', () => {
    expect(() => resolve({ 'max-rows': '-1' }, {})).toThrowError(/^--max-rows must be .*"-1"$/);
    expect(() => resolve({ 'max-rows': '' }, {})).toThrowError('--max-rows needs a value');
  });
});
