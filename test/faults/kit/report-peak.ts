// Loaded before a program: writes the most memory that its process held, in MB, to the file in PEAK_FILE.
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { PEAK_FILE } = process.env;
  if (PEAK_FILE !== undefined) writeFileSync(PEAK_FILE, String(process.resourceUsage().maxRSS / 1024));
});
