import { existsSync, statSync } from 'node:fs';
import { chmod, copyFile, open, rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { FILE_KIND } from '../../../state/file-kind.ts';
import { readMeta } from '../../../state/migrations.ts';
import { assertIdentity } from '../../../state/owner.ts';
import {
  isPublishedFile,
  isUntouched,
  readPublishedRecord,
  writePublishedRecord,
} from '../../../state/published-record.ts';
import { resolveLinks } from '../../files/real-paths.ts';
import { PublishError, StorageError, type SyncError, toSyncError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Lease } from '../../model/state-lock.ts';
import { removeViews } from '../../views/add-views.ts';
import { DamagedFileError } from '../../warehouse/database-errors.ts';
import { isAsMarked } from '../../warehouse/fingerprint-file.ts';
import { lookInto } from '../../warehouse/look-into.ts';
import { openForReading, openOwnPublished } from '../../warehouse/query-published.ts';
import { assertWritable } from '../assert-writable.ts';
import { readFileLineage } from '../lineage.ts';
import {
  adviseOn,
  findFileFaults,
  type PublishedFile,
  adviseForUnpublished,
  REPUBLISH_FIX,
  tryFile,
} from '../published-file.ts';
import type {
  CarriedState,
  ClosedCommit,
  ClosedPublisher,
  LocalPlace,
  PublishedFacts,
  PublishedState,
  PublishResult,
  VerifyKit,
} from '../publisher.ts';
import { isTemporaryFor, removeLeftovers } from '../put-in-place.ts';
import { replaceFile } from './replace-file.ts';

/** Publishes a copy of the work file: one DuckDB file, replaced by a rename. */
export class DuckdbFilePublisher implements ClosedPublisher {
  readonly name = 'duckdb';
  readonly title = 'published file';
  readonly needs = 'closed';
  readonly place: string;
  readonly state: CarriedState;
  readonly #settings: OfflineSettings;

  constructor(path: string, settings: OfflineSettings) {
    this.place = path;
    this.#settings = settings;
    this.state = {
      part: basename(path),
      isHeld: () => Promise.resolve(existsSync(path)),
      findLoss: () => Promise.resolve(undefined),
      restore: (file) => restoreFile(path, file),
    };
  }

  get local(): LocalPlace {
    const name = basename(this.place);
    return {
      target: resolveLinks(this.place),
      folder: dirname(this.place),
      engineFolders: [],
      findOwn: () => (path, kind) =>
        kind === 'file' && (path === name || path === `${name}.wal` || isTemporaryFor(this.place, path)),
    };
  }

  async claim(): Promise<void> {
    const path = this.place;
    assertWritable({
      folder: dirname(path),
      what: basename(path),
      instead: 'destination.duckdb to another file',
      path,
    });
    if (!existsSync(path) || this.#isLeft()) return;
    const meta = await readMetaOf(path);
    if (meta !== undefined && isOwn(meta)) {
      assertIdentity(meta, this.#settings, path);
      return;
    }
    const what =
      meta?.has(FILE_KIND) === true
        ? 'has the data of several accounts'
        : 'exists and was not written by Sluice, or is damaged';
    throw new PublishError(`${path} ${what}; it is not replaced`, {
      code: 'publish_refused',
      hint: 'Set destination.duckdb to another file, or move this one away. (duckdb.connect() on a name that does not exist yet creates an empty file: that one may be deleted.) Nothing was requested.',
      context: { path },
      exitCode: 2,
    });
  }

  /** A rename needs its source: what an overtaken run has copied cannot get into place without it. */
  async takeOver(lease: Lease): Promise<void> {
    const target = resolveLinks(this.place);
    if (existsSync(dirname(target))) await removeLeftovers(target, lease);
  }

  async inspect(): Promise<PublishedState | undefined> {
    const path = this.place;
    if (!existsSync(path)) return undefined;
    const isLeft = this.#isLeft();
    const generation = isLeft ? this.#record()?.generation : await readGeneration(path);
    const readLineage = () => readFileLineage(path);
    return { generation, isLeft, bytes: statSync(path).size, readLineage };
  }

  /** Byte for byte where the file is small. */
  async isDue(generation: string): Promise<boolean> {
    const record = this.#record();
    if (record?.generation !== generation || !this.#isLeft()) return true;
    return !isUntouched(record, this.place) || !(await isAsMarked(this.place, record));
  }

  async publish({ generation, look, file, ...commit }: ClosedCommit): Promise<PublishResult> {
    const path = this.place;
    // A rename over a link would replace the link and leave its target unchanged.
    const target = resolveLinks(path);
    const published = await replaceFile(file, target, commit, async () => {
      // A file that is still ours is recognised without opening it: a user may have it open for writing.
      await look(this.#isLeft() ? undefined : await readGeneration(target));
    });
    const { bytes, ...left } = published;
    writePublishedRecord(this.#settings.stateDir, { ...left, path, size: bytes, generation });
    return { bytes, report: { path, bytes } };
  }

  findFaults() {
    return findFileFaults(this.#file());
  }

  tryReading() {
    return tryFile(this.#file());
  }

  async verify(kit: VerifyKit): Promise<PublishedFacts | undefined> {
    const path = this.place;
    if (!existsSync(path)) {
      kit.addMissing(`there is no ${path}`, adviseForUnpublished(kit.wasSynced));
      return undefined;
    }
    if (this.#record() !== undefined && !this.#isLeft()) {
      const detail = `${path} is not the file that was published last`;
      if (!kit.hasWork)
        kit.add(
          'warning',
          detail,
          'The next sync continues from it. If it is the wrong one, put the right one in its place first.',
        );
      // A copy or a backup is as good, if the comparison with the work file finds the same rows.
      else if (await this.#isReplaceable())
        kit.add('warning', `${detail}: it was copied or moved here`, REPUBLISH_FIX);
      else kit.add('failed', detail, await adviseOn(this.#file()));
    }
    const facts = await kit.read({
      path,
      open: async (folders) => {
        // It says best what is wrong with a file that is not ours.
        await (await openOwnPublished(path)).release();
        return openForReading(path, folders);
      },
      explain: async (error) => [error.message, await this.#adviseOn(error)],
    });
    return facts && { ...facts, comparedAs: 'both files' };
  }

  #record() {
    return readPublishedRecord(this.#settings.stateDir);
  }

  /** Whether the file there is the one that was left there, even if a program has written into it since. */
  #isLeft(): boolean {
    const record = this.#record();
    return record !== undefined && existsSync(this.place) && isPublishedFile(record, this.place);
  }

  /** Whether a sync may publish in its place; one that cannot be looked into now is in use. */
  async #isReplaceable(): Promise<boolean> {
    if (this.#isLeft()) return true;
    try {
      return isOwn(await readMetaOf(this.place));
    } catch {
      return true;
    }
  }

  async #adviseOn({ code, hint }: SyncError): Promise<string> {
    const isUnreadable = ['state_damaged', 'query_failed', 'publish_refused'].includes(code);
    return isUnreadable ? adviseOn(this.#file()) : hint;
  }

  #file(): PublishedFile {
    const path = this.place;
    const { stateDir } = this.#settings;
    return {
      path,
      stateDir,
      whole: path,
      hasViews: false,
      isAsLeft: async () => {
        const record = this.#record();
        // A different file in its place may be a restored copy: a sync finds out whose it is.
        if (record === undefined) return true;
        if (!this.#isLeft()) return this.#isReplaceable();
        return record.fingerprint === undefined ? isUntouched(record, path) : isAsMarked(path, record);
      },
      // It does not read large files.
      willSyncReplace: async () => {
        if (!(await this.#isReplaceable())) return false;
        const generation = this.#record()?.generation;
        return generation === undefined || this.isDue(generation);
      },
    };
  }
}

/** Undefined for a file that is empty, not ours or not readable. */
async function readMetaOf(path: string): Promise<ReadonlyMap<string, string> | undefined> {
  return statSync(path).size > 0 ? lookInto(path, readMeta) : undefined;
}

function isOwn(meta: ReadonlyMap<string, string> | undefined): boolean {
  return meta?.has('schema_version') === true;
}

/** The commit that a file holds now; undefined if there is none. */
async function readGeneration(path: string): Promise<string | undefined> {
  return existsSync(path) ? (await lookInto(path, readMeta))?.get('generation') : undefined;
}

/** Copies a published file to the place of the work file, whole or not at all. */
async function restoreFile(published: string, file: string): Promise<void> {
  const temporary = `${file}.restore`;
  try {
    await copyFile(published, temporary);
    await chmod(temporary, 0o600);
    await removeViews(temporary);
    const handle = await open(temporary, 'r+');
    await handle.sync().finally(() => handle.close());
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    // A different copy may be whole.
    if (error instanceof DamagedFileError) throw error;
    throw new StorageError(`cannot restore the state from ${published}: ${toSyncError(error).message}`, {
      code: 'storage_failed',
      hint: 'Fix the cause (permissions of both folders, disk space) and run again. Nothing is lost.',
      context: { path: published },
      cause: error,
    });
  }
}
