import { describe, expect, it } from 'vitest';
import { REPORT_START } from '../../src/model/report-data.ts';
import { renderAccountsReport } from '../../src/report/render-accounts-report.ts';
import { renderReport } from '../../src/report/render-report.ts';
import { nameAccountsDeep } from '../../src/text/name-accounts.ts';
import {
  makeAccountsData,
  makeBusyData,
  makeEmptyData,
  makeRuns,
  makeStream,
  makeTable,
} from './make-report-data.ts';
import { listTexts, parseHtml } from './parse-html.ts';

const { html, summary } = renderAccountsReport(makeAccountsData());
const elements = parseHtml(html);
const text = listTexts(html);
const count = (tag: string) => elements.filter((element) => element.tag === tag).length;

describe('the first page of several accounts', () => {
  it('leads to the page of each, and holds none of them', () => {
    const page = renderAccountsReport(makeAccountsData(), { isLive: true });
    const found = parseHtml(page.html);
    const links = found.flatMap(({ attributes }) => attributes['href'] ?? []);
    const accounts = page.summary.accounts.map(({ account }) => `accounts/${account}`);
    expect(links.filter((href) => href.startsWith('accounts/'))).toEqual(accounts);
    expect(found.filter(({ attributes }) => attributes['class'] === 'account')).toEqual([]);
    expect(page.html).toContain('http-equiv="refresh" content="60"');
    expect(html).not.toContain('http-equiv="refresh"');
    expect(html).not.toContain('href="accounts/');
  });
});

describe('a report of several accounts', () => {
  it('is one document whose ids are all different, and whose links lead somewhere', () => {
    expect(html.startsWith(REPORT_START)).toBe(true);
    expect(count('h1')).toBe(1);
    expect(html.match(/<style>/g)).toHaveLength(1);
    expect(count('script')).toBe(0);
    const ids = elements.flatMap(({ attributes }) => attributes['id'] ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { attributes } of elements) {
      for (const id of attributes['aria-labelledby']?.split(' ') ?? []) expect(ids).toContain(id);
      const { href } = attributes;
      if (href?.startsWith('#') === true) expect(ids).toContain(href.slice(1));
    }
  });

  it('begins with a line an account, the worst first', () => {
    const links = elements.flatMap(({ attributes }) => attributes['href'] ?? []);
    expect(links.filter((href) => href.startsWith('#account-'))).toEqual([
      '#account-globex',
      '#account-initech',
      '#account-hooli',
      '#account-umbrella',
      '#account-acme-0',
      '#account-acme-1',
    ]);
    expect(text).toContain('2 of 6 accounts need attention');
    for (const word of ['failed', 'not readable', 'never synced', 'differs', 'verified'])
      expect(text).toContain(word);
    expect(summary).toMatchObject({ tone: 'bad', headline: '2 of 6 accounts need attention' });
  });

  it('shows each account as its own report does, open where it needs attention', () => {
    const open = elements.filter(
      ({ tag, attributes }) => tag === 'details' && attributes['class'] === 'account' && 'open' in attributes,
    );
    expect(open).toHaveLength(2);
    const alone = renderReport(makeBusyData());
    // Its commands name the account.
    const report = nameAccountsDeep(alone.summary, ['globex']);
    expect(summary.accounts[0]).toMatchObject({ account: 'globex', ok: true, report });
    expect(report).not.toEqual(alone.summary);
    expect(text).toContain('sluice quarantine retry --accounts globex');
    for (const said of [
      '34 records could not become rows',
      'personal data, not shown',
      'the busiest hour was',
    ])
      expect(text).toContain(said);
    expect(elements.filter(({ tag }) => tag === 'section').length).toBe(1 + 5 * 8);
  });

  it('says of an account that cannot be read why, and what to do', () => {
    expect(summary.accounts[1]).toMatchObject({
      account: 'initech',
      ok: false,
      health: 'not readable',
      report: null,
    });
    expect(text).toContain('accounts.initech.streems: unknown key');
    expect(text).toContain('Correct sluice.yaml and run again');
  });

  it('names what all have together', () => {
    expect(text.replaceAll(/\s+/g, ' ')).toMatch(/Accounts verified 2 of 6/);
    expect(text.replaceAll(/\s+/g, ' ')).toMatch(/In quarantine 34 of 1 account/);
  });

  it('opens the page of an account that stands alone', () => {
    const [first] = makeAccountsData().accounts;
    const one = renderAccountsReport({ ...makeAccountsData(), accounts: first === undefined ? [] : [first] });
    expect(one.summary.headline).toBe('The account is verified and up to date');
    expect(parseHtml(one.html).find(({ tag }) => tag === 'details')?.attributes).toHaveProperty('open');
  });

  it('names what is wrong with the file that has all of them, first of all', () => {
    const detail = '/data/all.duckdb is missing';
    const told = renderAccountsReport({
      ...makeAccountsData(),
      faults: [{ path: '/data/all.duckdb', detail, fix: 'Run `sluice sync`.' }],
    });
    const lines = listTexts(told.html);
    expect(lines).toContain(`${detail}.`);
    expect(told.summary).toMatchObject({ tone: 'bad', faults: [{ detail }] });
    expect(told.summary.headline).toMatch(/; the file with all of them has a problem$/);
    expect(summary).not.toHaveProperty('faults');
  });

  it('keeps forty accounts with four tables and a month of runs below 3 MB', () => {
    const runs = makeRuns(40);
    const { published, quota, requests } = makeBusyData();
    const names = ['a', 'b', 'c', 'd'];
    const streams = names.map((name) => makeStream(name, runs));
    const tables = names.map((name) => makeTable(name));
    const data = makeEmptyData({ published, quota, requests, runs, streams, tables });
    const accounts = Array.from({ length: 40 }, (_, at) => ({ account: `client${at}`, data }));
    const many = renderAccountsReport({ ...makeAccountsData(), accounts });
    expect(many.html.length).toBeLessThan(3_000_000);
    // The numbers behind a chart are in the page of an account that is looked at.
    expect(many.html).not.toContain('Numbers');
    expect(html).toContain('Numbers');
  });
});
