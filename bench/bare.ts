import { hash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { constants, createZstdCompress, type ZstdCompress } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { Pool } from 'undici';
import { scanPage } from '../src/json/scan-page.ts';
import { createFieldTree } from '../src/schema/observe-fields.ts';
import { SeenObserver } from '../src/schema/observe-seen.ts';
import { BufferPool } from '../src/stage/buffer-pool.ts';
import { writeStagedLines } from '../src/stage/staged-records.ts';
import { readPeakMb } from './support/peak-memory.ts';

// The least that keeps these pages in the way Sluice does: fetch, cut out and observe the records, hash each page,
// write one compressed file, load that on one thread, checkpoint, copy for readers. No quota, no joints, no key is
// proved, and nothing survives a crash. Usage: bare.ts ORIGIN ROWS [flat|nested]
const PAGE_ROWS = 100;
/** Rows that the engine compresses together: less would be written twice. */
const PART_ROWS = 122_880;
/** Each piece is a turn of the thread pool, which takes longer than compressing a small one. */
const PIECE_BYTES = 2 ** 19;
/** Pieces that may wait for the disk while pages are read. */
const MOST_WAITING = 4;
const columns = {
  flat: {
    record: `id VARCHAR, date VARCHAR, topicId VARCHAR, entity VARCHAR, mentions BIGINT, visibility DOUBLE, "rank" BIGINT,
      observedAt VARCHAR, isBranded BOOLEAN, meta STRUCT(model VARCHAR, region VARCHAR, score DOUBLE), tags JSON, answer VARCHAR`,
    table: `r.id, CAST(r.date AS DATE) AS date, r.topicId, r.entity, r.mentions, r.visibility, r."rank",
      CAST(r.observedAt AS TIMESTAMPTZ) AS observedAt, r.isBranded, r.meta.model AS meta_model, r.meta.region AS meta_region,
      r.meta.score AS meta_score, r.tags, r.answer`,
  },
  nested: {
    record: `id VARCHAR, date VARCHAR, topicId VARCHAR, mentions BIGINT, visibility DOUBLE, "rank" BIGINT,
      meta STRUCT(model VARCHAR, score DOUBLE), sources JSON, answer VARCHAR`,
    table: `r.id, CAST(r.date AS DATE) AS date, r.topicId, r.mentions, r.visibility, r."rank", r.meta.model AS meta_model,
      r.meta.score AS meta_score, r.sources, r.answer`,
  },
} as const;

interface Lines {
  readonly rows: number;
  readonly space: Buffer;
  readonly lines: Buffer;
}

interface Part {
  readonly file: string;
  readonly packed: ZstdCompress;
  readonly closed: Promise<unknown>;
  rows: number;
}

const [origin = '', rowsText = '0', shape = 'flat'] = process.argv.slice(2);
const rows = Number(rowsText);
const scratch = mkdtempSync(join(process.cwd(), 'bare-'));
const work = join(scratch, 'work.duckdb');
const startedAt = performance.now();
const cpuAtStart = process.cpuUsage();
const instance = await DuckDBInstance.create(work, { threads: '1' });
const connection = await instance.connect();
const pages = new Pool(origin, { connections: 8 });
const observer = new SeenObserver(createFieldTree());
const pool = new BufferPool();

let nextOffset = 0;
let taken = 0;
let joining: Lines[] = [];
let waiting = 0;
let writing = Promise.resolve();
let parts = 0;
let part = beginPart();
let loading = Promise.resolve();
let hasTable = false;
await Promise.all(Array.from({ length: 8 }, readPages));
writeJoined();
await writing;
endPart();
await loading;
await connection.run('CHECKPOINT');
const found = await connection.runAndReadAll('SELECT count(*) FROM items');
connection.closeSync();
instance.closeSync();
copyFileSync(work, join(scratch, 'warehouse.duckdb'));
const seconds = (performance.now() - startedAt) / 1_000;
const { user, system } = process.cpuUsage(cpuAtStart);
const cpuSeconds = (user + system) / 1_000_000;
await pages.close();
rmSync(scratch, { recursive: true });
const read = Number(found.getRows()[0]?.[0]);
process.stdout.write(`${JSON.stringify({ rows: read, seconds, cpuSeconds, peakMb: readPeakMb() })}\n`);

async function readPages(): Promise<void> {
  for (let offset = nextOffset; offset < rows; offset = nextOffset) {
    nextOffset += PAGE_ROWS;
    const path = `/v1/items?limit=${PAGE_ROWS}&offset=${offset}`;
    const { body } = await pages.request({ path, method: 'GET' });
    takePage(Buffer.from(await body.arrayBuffer()));
    if (waiting > MOST_WAITING) await writing;
  }
}

function takePage(bytes: Buffer): void {
  hash('sha256', bytes);
  const page = scanPage(bytes, ['data'], () => new RangeError('a record is nested too deep'));
  if (page === undefined) throw new Error('a page of the benchmark has to be parsed');
  const { records } = page;
  for (const { members } of records) if (members !== undefined) observer.observe(members);
  joining.push({ rows: records.length, ...writeStagedLines(taken, records, (size) => pool.take(size)) });
  taken += records.length;
  if (joining.reduce((sum, { lines }) => sum + lines.length, 0) >= PIECE_BYTES) writeJoined();
}

function writeJoined(): void {
  const piece = joining;
  joining = [];
  waiting += 1;
  writing = writing.then(() => writePiece(piece)).finally(() => (waiting -= 1));
}

async function writePiece(piece: readonly Lines[]): Promise<void> {
  const bytes = Buffer.concat(piece.map(({ lines }) => lines));
  for (const { space } of piece) pool.give(space);
  await new Promise<void>((done, failed) => {
    part.packed.write(bytes, (error) => (error ? failed(error) : done()));
  });
  part.rows += piece.reduce((sum, one) => sum + one.rows, 0);
  if (part.rows >= PART_ROWS) {
    endPart();
    part = beginPart();
  }
}

function beginPart(): Part {
  const file = join(scratch, `${(parts += 1)}.ndjson.zst`);
  const level = { [constants.ZSTD_c_compressionLevel]: 1 };
  const packed = createZstdCompress({ chunkSize: PIECE_BYTES, params: level });
  return { file, packed, closed: once(packed.pipe(createWriteStream(file)), 'close'), rows: 0 };
}

function endPart(): void {
  const { file, packed, closed } = part;
  packed.end();
  loading = loading.then(async () => {
    await closed;
    await connection.run(`${hasTable ? 'INSERT INTO items' : 'CREATE TABLE items AS'} ${selectPart(file)}`);
    hasTable = true;
    rmSync(file);
  });
}

function selectPart(file: string): string {
  const { record, table } = columns[shape === 'nested' ? 'nested' : 'flat'];
  return `SELECT i AS position, ${table} FROM read_json('${file}', format = 'newline_delimited', maximum_object_size = 1048576,
    columns = {i: 'BIGINT', r: 'STRUCT(${record})'})`;
}
