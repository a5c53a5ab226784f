import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { ReportData } from '../../src/model/report-data.ts';
import { renderDictionary } from '../../src/report/render-dictionary.ts';
import { renderAccountsReport } from '../../src/report/render-accounts-report.ts';
import { renderReport } from '../../src/report/render-report.ts';
import { makeDictionary, makeTable } from '../report/make-dictionary.ts';
import {
  makeAccountsData,
  makeBusyData,
  makeEmptyData,
  makeRuns,
  makeStream,
} from '../report/make-report-data.ts';

// Opens reports in Chromium as readers would: light, dark, on a phone, on paper. Fails where one asks for
// anything, complains, is wider than the screen, or cannot be read without eyes. Usage: npm run test:browser
// with a folder for the screenshots behind it, else they go to a temporary one.

const root = resolve(import.meta.dirname, '../..');
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const ACCOUNTS = 'accounts.html';
const DEMO_DOCS = 'demo-docs.html';

const underWay: ReportData['underWay'] = {
  runId: '20261120T060000Z-0a1b2c',
  toldAt: '2026-11-20T06:00:07.000Z',
  requests: 21,
  streams: [
    { stream: 'a', state: 'finished', pagesDone: 9, pagesPlanned: 9, rowsDone: 900, rowsDeclared: 900 },
    {
      stream: 'a_name_that_is_longer_than_most_names_of_streams_are_and_has_no_space',
      state: 'reading',
      pagesDone: 12_345,
      pagesPlanned: 98_765,
      rowsDone: 1_234_500,
      rowsDeclared: 9_876_543,
    },
  ],
  waiting: { reason: 'hourly-quota', until: '2026-11-20T07:00:00.000Z' },
  quota: { remaining: 0, limit: 600, resetAtMs: Date.parse('2026-11-20T07:00:00Z') },
};

interface View {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
  readonly media: 'screen' | 'print';
}

const views: readonly View[] = [
  { name: 'light', width: 1200, height: 900, colorScheme: 'light', media: 'screen' },
  { name: 'dark', width: 1200, height: 900, colorScheme: 'dark', media: 'screen' },
  { name: 'phone', width: 360, height: 760, colorScheme: 'light', media: 'screen' },
  { name: 'phone-dark', width: 360, height: 760, colorScheme: 'dark', media: 'screen' },
  { name: 'narrow', width: 1000, height: 900, colorScheme: 'light', media: 'screen' },
  { name: 'tablet', width: 768, height: 1000, colorScheme: 'light', media: 'screen' },
  { name: 'print', width: 794, height: 1123, colorScheme: 'dark', media: 'print' },
];

async function main(): Promise<void> {
  const executablePath = process.env['CHROMIUM'] ?? BROWSERS.find((file) => existsSync(file));
  if (executablePath === undefined) {
    throw new Error(`no Chromium at ${BROWSERS.join(', ')}; install one, or name it in CHROMIUM`);
  }
  const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'sluice-report-'));
  mkdirSync(folder, { recursive: true });
  const reports = writeReports(folder);
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const problems: string[] = [];
  try {
    problems.push(...(await inspectLive(browser, folder)));
    for (const [at, file] of reports.entries()) {
      // The last ones are about what texts and emptiness do, which few views show.
      for (const view of at < 4 ? views : views.filter(({ name }) => name.startsWith('phone')))
        problems.push(...(await inspect(browser, folder, file, view)));
    }
  } finally {
    await browser.close();
  }
  const lines = [
    `${reports.length} reports and a live one looked at; screenshots in ${folder}`,
    ...problems.map((problem) => `FAILED ${problem}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The reports to look at: the demo's own, accounts, a busy month, nothing at all, and hostile texts. */
function writeReports(folder: string): readonly string[] {
  const made: Readonly<Record<string, ReportData>> = {
    busy: { ...makeBusyData(), underWay },
    empty: makeEmptyData({ streams: [makeStream('prompts_analytics', [])] }),
    hostile: makeHostileData(),
  };
  const files = Object.entries(made).map(([name, data]) => {
    const file = join(folder, `${name}.html`);
    writeFileSync(file, renderReport(data).html);
    return file;
  });
  const docs = join(folder, 'docs.html');
  const dictionaries = ['acme', 'globex'].map((account) => ({
    account,
    dictionary: makeDictionary([makeTable(), makeTable({ table: `only_${account}`, changes: [] })]),
    error: undefined,
  }));
  const docsData = { madeAt: '2026-11-20T14:07:00.000Z', version: '0.0.0', accounts: dictionaries };
  writeFileSync(docs, renderDictionary(docsData).html);
  const accounts = join(folder, ACCOUNTS);
  writeFileSync(accounts, renderAccountsReport(makeAccountsData(20)).html);
  return [writeDemoReport(folder), join(folder, DEMO_DOCS), accounts, ...files, docs];
}

function writeDemoReport(folder: string): string {
  const place = mkdtempSync(join(tmpdir(), 'sluice-demo-'));
  const cli = join(root, 'src/cli/bin.ts');
  const file = join(folder, 'demo.html');
  const run = (...words: string[]) =>
    execFileSync(process.execPath, [cli, ...words], { cwd: place, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    run('demo');
    run('report', '-c', 'sluice-demo/sluice.yaml', '--output', file);
    run('docs', '-c', 'sluice-demo/sluice.yaml', '--output', join(folder, DEMO_DOCS));
  } finally {
    rmSync(place, { recursive: true });
  }
  return file;
}

const TOKEN = 'a-token-of-the-browser-test';

/** Opens a report that is served, as somebody who has the token, and as somebody who has not. */
async function inspectLive(browser: Browser, folder: string): Promise<readonly string[]> {
  const place = mkdtempSync(join(tmpdir(), 'sluice-live-'));
  const cli = join(root, 'src/cli/bin.ts');
  execFileSync(process.execPath, [cli, 'demo'], { cwd: place, stdio: ['ignore', 'ignore', 'pipe'] });
  const args = [cli, 'report', '-c', 'sluice-demo/sluice.yaml', '--serve', '--serve-port', '0', '--json'];
  const env = { ...process.env, SLUICE_PAGE_TOKEN: TOKEN };
  const child = spawn(process.execPath, args, { cwd: place, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const problems: string[] = [];
  try {
    const address = await readAddress(child);
    for (const view of views.filter(({ name }) => ['light', 'phone'].includes(name))) {
      const { width, height, name } = view;
      const context = await browser.newContext({ viewport: { width, height } });
      const page = await context.newPage();
      const fail = (what: string) => void problems.push(`live-${name}: ${what}`);
      page.on('console', (message) => fail(`console: ${message.text()}`));
      await page.goto(`${address}?token=${TOKEN}`);
      if (page.url() !== address) fail(`the token stays in the address: ${page.url()}`);
      if (!(await page.title()).includes('verified')) fail(`shows "${await page.title()}"`);
      await page.screenshot({ path: join(folder, `live-${name}.png`), fullPage: true });
      const widest = await findWidest(page);
      if (widest !== undefined) fail(`is wider than the screen: ${widest}`);
      const again = await page.goto(address);
      if (again?.status() !== 200) fail(`the next load is answered with ${again?.status()}`);
      await context.close();
    }
    const stranger = await browser.newPage();
    const refused = await stranger.goto(address);
    if (refused?.status() !== 401) problems.push(`live: without a token ${refused?.status()} and not 401`);
    await stranger.close();
  } finally {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
    rmSync(place, { recursive: true });
  }
  return problems;
}

/** The address that a served report prints first. */
async function readAddress({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('its output is not read');
  for await (const line of createInterface(stdout)) {
    const { result } = JSON.parse(line) as { result?: { address?: string } };
    if (result?.address !== undefined) return result.address;
  }
  throw new Error('the report is not served');
}

function makeHostileData(): ReportData {
  const names = [
    '<script>window.hit=1</script>',
    '"><img src=x onerror="window.hit=1">',
    'أسماء عربية طويلة',
    `x\u202edetrever\u202c`,
    'n'.repeat(10_000),
    '</style><style>*{display:none}',
  ];
  const runs = makeRuns(3);
  const busy = makeBusyData();
  return {
    ...busy,
    streams: names.map((name) => makeStream(name, runs, { keyColumns: [name], watermark: name })),
    runs,
    tables: busy.tables.map((table, at) => ({
      ...table,
      stream: names[at] ?? '',
      profile: table.profile && {
        ...table.profile,
        columns: table.profile.columns.map((column) => ({ ...column, name: names[at] ?? '' })),
      },
    })),
    quarantine: {
      total: 1,
      reasons: busy.quarantine.reasons.map((reason, at) => ({
        ...reason,
        path: names[at] ?? '',
        reason: names[at + 1] ?? '',
        sample: names.join(' '),
      })),
    },
    warnings: names,
    leftOut: names,
  };
}

async function inspect(
  browser: Browser,
  folder: string,
  file: string,
  view: View,
): Promise<readonly string[]> {
  const { width, height, colorScheme, media } = view;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    deviceScaleFactor: 1,
  });
  const page = await context.newPage();
  const problems: string[] = [];
  const name = `${file.slice(file.lastIndexOf('/') + 1, -'.html'.length)}-${view.name}`;
  const fail = (what: string) => void problems.push(`${name}: ${what}`);
  page.on('console', (message) => fail(`console: ${message.text()}`));
  page.on('pageerror', (error) => fail(`error: ${error.message}`));
  const url = pathToFileURL(file).href;
  page.on('request', (request) => {
    if (request.url() !== url && request.url() !== 'data:,') fail(`asked for ${request.url()}`);
  });
  await page.emulateMedia({ media, colorScheme });
  await page.goto(url);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  const widest = await findWidest(page);
  if (widest !== undefined) fail(`is wider than the screen: ${widest}`);
  if (media === 'screen') {
    await openAll(page);
    const opened = await findWidest(page);
    if (opened !== undefined) fail(`is wider than the screen when opened: ${opened}`);
    await page.screenshot({ path: join(folder, `${name}-open.png`), fullPage: true });
    for (const problem of await listenTo(page, kindOf(file))) fail(problem);
  } else {
    writeFileSync(join(folder, `${name}.pdf`), await page.pdf({ format: 'A4' }));
  }
  if (await page.evaluate<boolean>(`'hit' in window`)) fail('ran a script of its texts');
  await context.close();
  return problems;
}

// The project's types know no browser: what runs in one is text.
const FIND_WIDEST = `(() => {
  const { clientWidth, scrollWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return '';
  const sticksOut = (element) => element.getBoundingClientRect().right > clientWidth + 1;
  const wide = [...document.querySelectorAll('body *')].find(sticksOut);
  return scrollWidth + ' px of ' + clientWidth + ': ' + (wide?.outerHTML.slice(0, 160) ?? 'unknown');
})()`;

/** The first element that sticks out of the page, and by how much; undefined where none does. */
async function findWidest(page: Page): Promise<string | undefined> {
  const found = await page.evaluate<string>(FIND_WIDEST);
  return found === '' ? undefined : found;
}

async function openAll(page: Page): Promise<void> {
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => { details.open = true; })`);
}

const LIST_NAMELESS = `[...document.querySelectorAll('[role=img]')].filter((image) => {
  const ids = image.getAttribute('aria-labelledby')?.split(' ') ?? [];
  const texts = ids.map((id) => document.getElementById(id)?.textContent ?? '');
  return (image.getAttribute('aria-label') ?? texts.join('')) === '';
}).map((image) => 'an image has no name: ' + image.outerHTML.slice(0, 120))`;

const LIST_LEVELS = `[...document.querySelectorAll('h1, h2, h3')].map(({ tagName }) => Number(tagName.slice(1)))`;

type Kind = 'report' | 'accounts' | 'docs';

function kindOf(file: string): Kind {
  if (file.endsWith('docs.html')) return 'docs';
  return file.endsWith(ACCOUNTS) ? 'accounts' : 'report';
}

/** What a screen reader finds its way by. */
const LANDMARKS: Readonly<Record<Kind, readonly RegExp[]>> = {
  report: [/navigation "Sections"/, /region "What to know"/, /heading "Streams" \[level=2\]/],
  accounts: [/navigation "Sections of globex"/, /region "What to know"/, /heading "Streams" \[level=3\]/],
  docs: [/navigation "Tables"/, /region "prompts_analytics"/, /heading "Reading and joining" \[level=2\]/],
};

/** What a screen reader would miss. */
async function listenTo(page: Page, kind: Kind): Promise<readonly string[]> {
  const heard = await page.locator('body').ariaSnapshot();
  const expected = [/banner/, /heading .*\[level=1\]/, /main/, /contentinfo/, ...LANDMARKS[kind]];
  const missing = expected.filter((pattern) => !pattern.test(heard)).map((pattern) => `no ${pattern.source}`);
  const nameless = await page.evaluate<readonly string[]>(LIST_NAMELESS);
  const levels = await page.evaluate<readonly number[]>(LIST_LEVELS);
  const isSkipping = levels.some((level, at) => level - (levels[at - 1] ?? 0) > 1);
  return [...missing, ...nameless, ...(isSkipping ? ['a level of headings is skipped'] : [])];
}

await main();
