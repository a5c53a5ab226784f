// npm run pictures: makes the pictures of the README from the demo, in a light and a dark version each. Needs Chromium;
// `tools/install-proof-tools.sh` installs it on Debian. Look at them before you commit them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const root = join(import.meta.dirname, '..');
const pictures = join(root, 'docs/pictures');
const MAX_BYTES = 200_000;
const schemes = ['light', 'dark'] as const;
type Scheme = (typeof schemes)[number];

const colors: Readonly<Record<Scheme, Readonly<Record<'ground' | 'edge' | 'text' | 'prompt', string>>>> = {
  light: { ground: '#f6f8fa', edge: '#d0d7de', text: '#1f2328', prompt: '#59636e' },
  dark: { ground: '#0d1117', edge: '#30363d', text: '#e6edf3', prompt: '#9198a1' },
};

async function main(): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'sluice-pictures-'));
  const runCli = (...words: string[]) =>
    execFileSync(process.execPath, [join(root, 'src/cli/bin.ts'), ...words], {
      cwd: place,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  try {
    mkdirSync(pictures, { recursive: true });
    const lines = chooseLines(runCli('demo'));
    for (const scheme of schemes)
      writeFileSync(join(pictures, `terminal-${scheme}.svg`), drawTerminal(lines, scheme));
    runCli('report', '-c', 'sluice-demo/sluice.yaml', '--output', 'report.html');
    await photograph(join(place, 'report.html'));
  } finally {
    rmSync(place, { recursive: true });
  }
  for (const scheme of schemes)
    for (const name of [`terminal-${scheme}.svg`, `report-${scheme}.png`]) {
      const { size } = statSync(join(pictures, name));
      process.stdout.write(`docs/pictures/${name}: ${Math.ceil(size / 1000)} kB\n`);
      if (size > MAX_BYTES) process.exitCode = 1;
    }
}

/** What the demo prints of its two syncs, without the wide last column and lines that name a time or a folder. */
function chooseLines(output: string): readonly string[] {
  const end = output.indexOf('The tables');
  const story = output.slice(0, end).replace(/127\.0\.0\.1:\d+/, '127.0.0.1:41501');
  const kept = story
    .split('\n')
    .filter((line) => !/ UTC|^Published |^new data once/.test(line))
    .map((line) => line.replace(/ {2}(NOTE|learned the key .*)$/, '').trimEnd());
  const lines = kept.filter((line, at) => line !== '' || kept[at - 1] !== '');
  return ['$ npm run demo', ...lines.join('\n').trimEnd().split('\n')];
}

/** A terminal window as SVG. Each line has a fixed width, so that columns line up in any font. */
function drawTerminal(lines: readonly string[], scheme: Scheme): string {
  const { ground, edge, text, prompt } = colors[scheme];
  const [charWidth, lineHeight, margin] = [8, 20, 20];
  const width = Math.max(...lines.map(({ length }) => length)) * charWidth + 2 * margin;
  const height = lines.length * lineHeight + 2 * margin;
  const rows = lines.flatMap((line, at) => {
    if (line === '') return [];
    const indent = line.length - line.trimStart().length;
    const look = [
      `x="${margin + indent * charWidth}" y="${margin + at * lineHeight + 14}"`,
      `textLength="${(line.length - indent) * charWidth}"`,
      ...(line.startsWith('$') ? [`fill="${prompt}"`] : []),
      ...(line.startsWith('A ') ? ['font-weight="bold"'] : []),
    ];
    return [`<text ${look.join(' ')}>${escapeXml(line.trimStart())}</text>`];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${ground}" stroke="${edge}"/>`,
    `<g fill="${text}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">`,
    ...rows,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Viewers disagree about white space in SVG, but not about spaces that do not break. */
function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('  ', '\u00a0\u00a0');
}

/** The top of the report, as a browser shows it. */
async function photograph(file: string): Promise<void> {
  // The port differs in each run.
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:41501'));
  const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const executablePath = process.env['CHROMIUM'] ?? places.find((path) => existsSync(path));
  if (executablePath === undefined)
    throw new Error(`no Chromium at ${places.join(', ')}; install one, or name it in CHROMIUM`);
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    for (const colorScheme of schemes) {
      const page = await browser.newPage({ viewport: { width: 1100, height: 960 }, colorScheme });
      await page.goto(pathToFileURL(file).href);
      await page.screenshot({ path: join(pictures, `report-${colorScheme}.png`) });
    }
  } finally {
    await browser.close();
  }
}

await main();
