// Loaded before the service: on SIGUSR2, the wall clock is off by the milliseconds in the file of FAULTS_CLOCK. Time that
// nobody sets goes on as it does when a clock is set.
import * as fs from "node:fs"

const Real = Date
let offset = 0

process.on("SIGUSR2", () => {
  offset = Number(fs.readFileSync(process.env.FAULTS_CLOCK ?? "", "utf8"))
})

const realNow = Real.now.bind(Real)
const now = () => realNow() + offset

globalThis.Date = new Proxy(Real, {
  construct: (target, given: Array<unknown>, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  get: (target, key) => (key === "now" ? now : Reflect.get(target, key))
})
