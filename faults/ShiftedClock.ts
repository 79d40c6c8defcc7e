// Loaded into a service before it starts: on SIGUSR2 it shifts the wall clock by the milliseconds in the file of FAULTS_CLOCK. The
// monotonic clock is not affected, as when a system clock is set.
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
