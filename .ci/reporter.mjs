// A reporter for vitest. It prints what the run cost: the slowest files, the processor time of each project and of the whole run, the share of
// files that use the real clock, and retries, of which there are none. It writes the counts of each project to the file in RESULTS, if that is set.
import { readFileSync, writeFileSync } from "node:fs"
import { relative } from "node:path"
import { usesRealClock } from "../testkit/RealClock.ts"

const slowest = 10

const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`
const percent = (part, whole) => `${whole === 0 ? 0 : Math.round((100 * part) / whole)} %`

/** Linux counts so many per second, on all processors that Node runs on. */
const ticks = 100

/**
 * Seconds of the processor of this process and of all that have ended below it: workers, PostgreSQL, and processes of tests. What outlived a killed
 * service is missing. Undefined: this system does not show it.
 */
const wholeRun = () => {
  try {
    // The name of the process is in brackets, and may have blanks. Its time and that of its children, each in user and system mode, follow later.
    const fields = readFileSync("/proc/self/stat", "utf8")
      .replace(/^[^]*\) /u, "")
      .split(" ")
    return fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0) / ticks
  } catch {
    return undefined
  }
}

/** Seconds of the processor that the workers took for the files of tests, as far as the run has ended. */
let inFiles = 0

/** When Vitest ends, it has stopped all that it started. */
process.once("exit", () => {
  const spent = wholeRun()
  if (spent === undefined) return
  const others = Math.max(0, spent - inFiles)
  process.stdout.write(
    `Processor time of the whole run: ${spent.toFixed(0)} s, ${inFiles.toFixed(0)} s in the files of tests, ${others.toFixed(0)} s in Vitest, in the start of workers, in PostgreSQL and in other processes.\n`
  )
})

export default class {
  onTestRunEnd(modules, errors) {
    const projects = {}
    const files = []
    let retries = 0
    for (const module of modules) {
      const { duration } = module.diagnostic()
      const { processorMs = 0 } = module.meta()
      const counts = (projects[module.project.name] ??= {
        passed: 0,
        failed: 0,
        skipped: 0,
        milliseconds: 0,
        processorMs: 0
      })
      counts.milliseconds += duration
      counts.processorMs += processorMs
      inFiles += processorMs / 1000
      // Errors of a module itself: it cannot be loaded, or one of its hooks fails.
      counts.failed += module.errors().length
      for (const test of module.children.allTests()) {
        counts[test.result().state]++
        retries += test.diagnostic()?.retryCount ?? 0
      }
      const isReal = usesRealClock(readFileSync(module.moduleId, "utf8"))
      files.push({ name: relative(process.cwd(), module.moduleId), duration, processorMs, isReal })
    }
    this.#print(projects, files, retries)
    if (process.env.RESULTS !== undefined) {
      writeFileSync(process.env.RESULTS, JSON.stringify({ projects, errors: errors.length + retries }))
    }
  }

  #print(projects, files, retries) {
    const sum = (some) => some.reduce((all, { duration }) => all + duration, 0)
    const real = files.filter(({ isReal }) => isReal)
    const lines = files
      .toSorted((one, other) => other.duration - one.duration)
      .slice(0, slowest)
      .map(
        ({ name, duration, processorMs, isReal }) =>
          `  ${seconds(duration).padStart(9)}  ${seconds(processorMs).padStart(9)} of processor  ${name}${isReal ? ", real clock" : ""}`
      )
    const spent = Object.entries(projects).map(([name, { processorMs }]) => `${name} ${seconds(processorMs)}`)
    const share = `${real.length} of ${files.length} files use the real clock, for ${percent(sum(real), sum(files))} of the time`
    process.stdout.write(
      [
        "",
        "The slowest files:",
        ...lines,
        `Processor time of the workers, without PostgreSQL and processes that tests start: ${spent.join(", ")}.`,
        `${share}. Retries: ${retries}.`,
        ""
      ].join("\n")
    )
  }
}
