import { describe, expect, it } from 'vitest';
import { dark, light, type Theme } from '../../src/report/palette.ts';

/** Contrast of two colours as WCAG 2 computes it: 1 to 21. */
function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].toSorted((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

describe.each([
  ['light', light],
  ['dark', dark],
])('the %s theme', (_, theme: Theme) => {
  const texts = [
    ...(['ink', 'muted', 'link'] as const).flatMap((text) => [
      [text, 'page'] as const,
      [text, 'surface'] as const,
    ]),
    ...(['good', 'note', 'bad', 'idle'] as const).flatMap((tone) => [
      [tone, 'surface'] as const,
      [tone, `${tone}Wash`] as const,
      ['ink', `${tone}Wash`] as const,
    ]),
  ];

  it.each(texts)('can be read: %s on %s', (text, ground) => {
    expect(contrast(theme[text], theme[ground])).toBeGreaterThanOrEqual(4.5);
  });

  it.each(['first', 'second', 'third', 'rest'] as const)('can be seen: %s on the surface', (mark) => {
    expect(contrast(theme[mark], theme.surface)).toBeGreaterThanOrEqual(3);
  });
});

it('computes contrast as the standard does', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});
