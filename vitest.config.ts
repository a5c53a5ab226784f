import { defineConfig } from 'vitest/config';
import { chooseTempRoot } from './test/support/fast-temp.ts';
import { findTier, listTestFiles, tierNames } from './test/tiers.ts';

const files = listTestFiles();

export default defineConfig({
  test: {
    setupFiles: ['test/support/seed-properties.ts'],
    env: { TMPDIR: chooseTempRoot() },
    // Loading the sources again for each of the files would take a sixth of the time.
    isolate: false,
    maxWorkers: '100%',
    // Only a test that hangs takes this long, on any machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: tierNames.map((name) => ({
      extends: true,
      test: { name, include: files.filter((file) => findTier(file) === name).map((file) => `test/${file}`) },
    })),
  },
});
