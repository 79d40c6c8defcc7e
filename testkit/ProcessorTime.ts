// Notes the processor time of each file of tests, for `.ci/reporter.mjs`. Vitest runs this before each file, and a worker runs one file
// at a time.
import { afterAll } from "vitest"
import type { TaskMeta } from "vitest"

declare module "vitest" {
  interface TaskMeta {
    /** Milliseconds of the worker, from the import of the file to its last test. */
    processorMs?: number
  }
}

const microsecondsPerMs = 1000
const before = process.cpuUsage()

const note = (_context: object, { meta }: { readonly meta: TaskMeta }): void => {
  const { user, system } = process.cpuUsage(before)
  meta.processorMs = (user + system) / microsecondsPerMs
}

// Vitest reads the text of a hook to find what it uses of its first argument. A bound function has no text, and uses nothing of it.
afterAll(note.bind(undefined))
