/** Colours of a theme by what they stand for. Texts and marks are checked for their contrast by a test. */
export type Theme = Readonly<Record<Token, string>>;

type Token =
  | 'page'
  | 'surface'
  | 'ink'
  | 'muted'
  | 'line'
  | 'grid'
  | 'link'
  | 'good'
  | 'note'
  | 'bad'
  | 'idle'
  | 'goodWash'
  | 'noteWash'
  | 'badWash'
  | 'idleWash'
  | 'first'
  | 'second'
  | 'third'
  | 'rest';

/** After Okabe and Ito: told apart with any kind of colour vision. */
export const light: Theme = {
  page: '#f6f6f4',
  surface: '#ffffff',
  ink: '#1b1f24',
  muted: '#555c66',
  line: '#dcdee2',
  grid: '#e7e9ec',
  link: '#0b5394',
  good: '#00694c',
  note: '#8a4b00',
  bad: '#a8201a',
  idle: '#555c66',
  goodWash: '#e3f3ec',
  noteWash: '#fdf0da',
  badWash: '#fbe7e5',
  idleWash: '#eceef0',
  first: '#0072b2',
  second: '#c05a00',
  third: '#8f4e86',
  rest: '#7d858f',
};

export const dark: Theme = {
  page: '#121518',
  surface: '#1b1f24',
  ink: '#e9ebee',
  muted: '#a9b1bb',
  line: '#343a42',
  grid: '#2a3037',
  link: '#82bdf0',
  good: '#5fd0a0',
  note: '#f2b659',
  bad: '#ff9a8f',
  idle: '#a9b1bb',
  goodWash: '#143028',
  noteWash: '#3a2b12',
  badWash: '#42201e',
  idleWash: '#2a3037',
  first: '#56b4e9',
  second: '#e69f00',
  third: '#d693cf',
  rest: '#8b949e',
};

/** A theme as custom properties of CSS. */
export function writeProperties(theme: Theme): string {
  return Object.entries(theme)
    .map(
      ([token, colour]) =>
        `--${token.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}:${colour}`,
    )
    .join(';');
}
