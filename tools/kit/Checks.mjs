// Counts named checks as .ci/reporter.mjs counts tests.
import { writeFileSync } from "node:fs"

export class Checks {
  #counts = { passed: 0, failed: 0, skipped: 0 }
  #started = performance.now()

  /** The result of `check`, or `undefined` if it has failed. */
  async run(name, check) {
    try {
      const result = await check()
      this.#counts.passed++
      process.stdout.write(`ok: ${name}\n`)
      return result
    } catch (error) {
      this.#counts.failed++
      process.stdout.write(`FAILED: ${name}\n${error instanceof Error ? error.stack : String(error)}\n`)
      return undefined
    }
  }

  skip(reason) {
    this.#counts.skipped++
    process.stdout.write(`skipped: ${reason}\n`)
  }

  /** Prints the counts, writes them to the file that RESULTS names, and sets the exit code. */
  report() {
    const { passed, failed, skipped } = this.#counts
    process.stdout.write(`openapi: ${passed} passed, ${failed} failed, ${skipped} skipped\n`)
    if (failed > 0) process.exitCode = 1
    if (process.env.RESULTS === undefined) return
    const milliseconds = performance.now() - this.#started
    writeFileSync(
      process.env.RESULTS,
      JSON.stringify({ projects: { openapi: { ...this.#counts, milliseconds } }, errors: 0 })
    )
  }
}
