const tasks: (() => unknown)[] = [];

/**
 * Has something undone when the running test file ends. Test files share their modules, so that a hook which a
 * module registers while it is loaded belongs to the first file alone.
 */
export function afterFile(task: () => unknown): void {
  tasks.push(task);
}

/** Called once by each file's setup. */
export async function endFile(): Promise<void> {
  for (const task of tasks.splice(0).reverse()) await task();
}
