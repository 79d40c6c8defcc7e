// A reporter for vitest that counts the tests of each project and writes the counts to the file in RESULTS.
import { writeFileSync } from "node:fs"

export default class {
  onTestRunEnd(modules, errors) {
    const projects = {}
    for (const module of modules) {
      const counts = (projects[module.project.name] ??= { passed: 0, failed: 0, skipped: 0, milliseconds: 0 })
      counts.milliseconds += module.diagnostic().duration
      // Errors of a module itself: it cannot be loaded, or one of its hooks fails.
      counts.failed += module.errors().length
      for (const test of module.children.allTests()) counts[test.result().state]++
    }
    writeFileSync(process.env.RESULTS, JSON.stringify({ projects, errors: errors.length }))
  }
}
