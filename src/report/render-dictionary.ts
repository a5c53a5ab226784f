import type { DictionaryData, RenderedDictionary } from '../model/dictionary.ts';
import { DICTIONARY_START } from '../model/report-data.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { drawDictionaryTable } from './dictionary-section.ts';
import { drawDocument } from './document.ts';
import { drawFacts } from './facts.ts';
import { formatMoment } from './format-values.ts';
import { type JoinedTable, joinDictionaries } from './join-dictionaries.ts';
import { html, type Markup, nameText } from './markup.ts';
import { drawEmpty, drawLinks, drawSection, type Section } from './section.ts';

/** Renders the data dictionary as one HTML file that needs no script and no network. */
export function renderDictionary(data: DictionaryData): RenderedDictionary {
  const tables = joinDictionaries(data.accounts);
  const sections = [
    ...tables.map((table, at) => ({
      id: `t${at}`,
      heading: table.table.table,
      body: drawDictionaryTable(table, data.accounts.length),
    })),
    buildUseSection(data),
  ];
  const page = drawDocument({
    title: 'Data dictionary',
    body: html`${drawHeader(data, tables)}
      <nav aria-label="Tables">
        <ul>
          ${drawLinks(sections)}
        </ul>
      </nav>
      <main>
        ${tables.length === 0 && drawEmpty('Nothing is published yet: run sluice sync.')} ${drawErrors(data)}
        ${sections.map((section) => drawSection(section))}
      </main>
      <footer>
        <p>
          Made by Sluice ${data.version} at ${formatMoment(data.madeAt)}. All times are UTC. This page has no
          value of any record.
        </p>
      </footer>`,
  });
  return { html: DICTIONARY_START + page.text, summary: summarizeDictionary(data), data };
}

function drawHeader({ accounts, madeAt }: DictionaryData, tables: readonly JoinedTable[]): Markup {
  const connectors = new Set(accounts.flatMap(({ dictionary }) => dictionary?.connector ?? []));
  const columns = tables.flatMap((table) => table.columns);
  const described = columns.filter(({ column }) => column.description !== undefined);
  const isJoint = accounts.some(({ account }) => account !== undefined);
  return html`<header>
    <p class="eyebrow">
      Sluice ${[...connectors].map((name) => html`<span aria-hidden="true">·</span> ${name}`)}
    </p>
    <h1>Data dictionary</h1>
    <p class="when">As of <time datetime="${madeAt}">${formatMoment(madeAt)}</time></p>
    ${drawFacts([
      { name: 'Tables', value: formatCount(tables.length), aside: undefined },
      { name: 'Columns', value: formatCount(columns.length), aside: undefined },
      { name: 'With a description', value: formatCount(described.length), aside: undefined },
      ...(isJoint ? [{ name: 'Accounts', value: formatCount(accounts.length), aside: undefined }] : []),
    ])}
  </header>`;
}

function drawErrors({ accounts }: DictionaryData): Markup | false {
  const failed = accounts.filter(({ error }) => error !== undefined);
  if (failed.length === 0) return false;
  return drawSection({
    id: 'unread',
    heading: 'Accounts that could not be read',
    body: html`<ul class="findings">
      ${failed.map(
        ({ account = '', error }) =>
          html`<li class="bad"><p>${nameText(account)}: ${error?.message ?? ''}</p></li>`,
      )}
    </ul>`,
  });
}

/** How the tables are read, and joined. */
function buildUseSection({ accounts }: DictionaryData): Section {
  const isJoint = accounts.some(({ account }) => account !== undefined);
  const files = accounts.flatMap(({ dictionary }) => dictionary?.file ?? []);
  const body = html`<p>
      A row is one record of its stream; nested fields are columns with two underscores between the names. The
      columns <code>_run_id</code> and <code>_synced_at</code> say which run last changed a row. How fresh and
      complete a table is, is in <code>_sluice.checkpoints</code> and <code>_sluice.stream_runs</code>.
    </p>
    ${
      isJoint
        ? html`<p class="remark">
            Of ${formatCountOf(accounts.length, 'account')}: <code>sluice query</code> and the combined file
            have each table once, with the rows of all accounts and the column <code>account</code>. A key
            tells rows apart within an account, so join tables by <code>account</code> and the key. A column
            that an account does not have is NULL in its rows.
          </p>`
        : html`<p class="remark">Tables share no key but the fields that the API gives several of them.</p>`
    }
    ${files.length === 1 && html`<p class="remark">Described from <bdi>${files[0]}</bdi>.</p>`}`;
  return { id: 'use', heading: 'Reading and joining', body };
}

/** The page in short: how many tables and columns, and how many of them people described. */
function summarizeDictionary({ accounts }: DictionaryData): string {
  const tables = joinDictionaries(accounts);
  const columns = tables.flatMap((table) => table.columns);
  const described = columns.filter(({ column }) => column.description !== undefined).length;
  if (tables.length === 0) return 'nothing is published yet';
  return `${formatCountOf(tables.length, 'table')} with ${formatCountOf(columns.length, 'column')}, ${formatCount(described)} of them with a description`;
}
