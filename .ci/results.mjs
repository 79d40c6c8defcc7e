// Sums up vitest's reports in the one line that says how it ended.
import { readFileSync } from "node:fs"

const reports = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, "utf8")))
const sum = (key) => reports.reduce((total, report) => total + report[key], 0)
const passed = sum("numPassedTests")
const failed = sum("numFailedTests")
const skipped = sum("numPendingTests")
for (const [index, file] of process.argv.slice(2).entries()) {
  process.stdout.write(`${file.replace(/^.*results-|\.json$/g, "")}: ${reports[index].numPassedTests} tests\n`)
}
process.stdout.write(`${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}\n`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
