import { describe, expect, it } from 'vitest';
import { parseState } from '../../src/commands/state/parse-state.ts';
import type { OfflineSettings } from '../../src/model/settings.ts';

describe('a state to import', () => {
  it.each([
    ['the bytes of a database', 'DUCK\u0001\u001b[31m\0'],
    ['half of one', '{"format":"sluice-state","checkpoints":[{"stream":"items'],
  ])('is refused without its text where it is %s', (_, text) => {
    const refused = () => parseState({} as unknown as OfflineSettings, text);
    expect(refused).toThrow(
      /^the state cannot be imported: it is not JSON, so it is not what `sluice state export` wrote, or a part of that$/,
    );
  });

  it('is refused where it names something twice', () => {
    const refused = () =>
      parseState({} as unknown as OfflineSettings, '{"format":"sluice-state","version":1,\n"version":2}');
    expect(refused).toThrow(/: it names \/version more than once, in lines 1 and 2$/);
  });
});
