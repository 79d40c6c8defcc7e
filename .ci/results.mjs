// Sums up the files of `.ci/reporter.mjs`: prints a line for each project, and the total.
import { readFileSync } from "node:fs"
import { basename } from "node:path"

const total = { passed: 0, failed: 0, skipped: 0 }
for (const file of process.argv.slice(2)) {
  const { projects, errors } = JSON.parse(readFileSync(file, "utf8"))
  total.failed += errors
  for (const [project, counts] of Object.entries(projects)) {
    const run = basename(file).replace(/^results-|\.json$/g, "")
    const seconds = Math.round(counts.milliseconds / 1000)
    process.stdout.write(`${run}, ${project}: ${counts.passed} tests in ${seconds} s\n`)
    for (const key of Object.keys(total)) total[key] += counts[key]
  }
}
const skipped = total.skipped === 0 ? "" : `, ${total.skipped} skipped`
process.stdout.write(`${total.passed} passed, ${total.failed} failed${skipped}\n`)
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1
