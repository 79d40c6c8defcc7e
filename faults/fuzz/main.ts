// Sends invalid requests, and bytes that are not a request, to a service of its own. A finding names the seed and the number of its
// case, with which the case can be repeated alone.
//
//   npm run fuzz -- --count 100000 --seed 1
//   npm run fuzz -- --short
//   npm run fuzz -- --seed 1 --at 4711
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import * as fs from "node:fs"
import { parseArgs } from "node:util"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import * as Fuzz from "./Fuzz.ts"
import * as Subject from "./Subject.ts"

const { values } = parseArgs({
  options: {
    count: { type: "string" },
    short: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    from: { type: "string", default: "0" },
    /** Runs only this case and prints its bytes. */
    at: { type: "string" },
    /** The URL of a running service with the settings of `Subject.ts`, and the file with its key. */
    port: { type: "string" },
    "key-file": { type: "string", default: "data/api-key" },
    concurrency: { type: "string", default: "16" }
  }
})

/** Cases of a run, and of a run with `--short`: a minute or less. */
const fullCount = 100_000
const shortCount = 4000

const seed = Number(values.seed)
const single = values.at === undefined ? undefined : Number(values.at)
const count = single === undefined ? Number(values.count ?? (values.short ? shortCount : fullCount)) : 1

/** Memory is measured ten times. */
const part = Math.ceil(count / 10)

/** The bytes by which memory may grow from the third measurement, when the code is warm, to the last. */
const maxGrowth = 128 * 2 ** 20

/** The number of findings that are printed. */
const maxShown = 40

/** Groups findings by their problem. */
const kinds = (findings: ReadonlyArray<Fuzz.Finding>) =>
  [...Map.groupBy(findings, ({ what }) => what.slice(0, 90))].slice(0, maxShown)

const encryptionKey = Buffer.alloc(32, 9).toString("base64")

const program = Effect.gen(function* () {
  const { service, world, port } =
    values.port === undefined
      ? yield* Subject.start(yield* folder, { API_KEY: Service.apiKey, STORAGE_ENCRYPTION_KEY: encryptionKey })
      : yield* Subject.existing(Number(values.port), fs.readFileSync(values["key-file"], "utf8").trim())
  const started = performance.now()
  const memory = [yield* Subject.residentBytes(service)]
  const options = { port, world, secrets: [encryptionKey], seed, concurrency: Number(values.concurrency) }
  const first = single ?? Number(values.from)
  const parts: Array<Fuzz.Report> = []
  for (let from = first; from < first + count; from += part) {
    parts.push(yield* Fuzz.run({ ...options, from, count: Math.min(part, first + count - from) }))
    memory.push(yield* Subject.residentBytes(service))
  }
  const report = Fuzz.sum(parts)
  const seconds = (performance.now() - started) / 1000
  const wrong = yield* Subject.aftermath(service, world, [encryptionKey, ...Fuzz.secretsOf(world)])

  yield* Console.log(
    `${report.requests} requests and ${report.garbage} times garbage with seed ${seed} in ${seconds.toFixed(0)} s, ${(count / seconds).toFixed(0)} a second`
  )
  for (const [name, times] of [...report.counts].sort()) yield* Console.log(`  ${name.padEnd(10)}${times}`)
  yield* Console.log(`resident memory, in MiB: ${memory.map((bytes) => (bytes / 2 ** 20).toFixed(0)).join(", ")}`)
  const [, , warm] = memory
  if ((memory.at(-1) ?? 0) > (warm ?? Number.POSITIVE_INFINITY) + maxGrowth) wrong.push("its memory grows")
  for (const [what, [first, ...others]] of kinds(report.findings)) {
    yield* Console.log(
      `${what}${
        others.length === 0
          ? ""
          : ` (also at ${others
              .slice(0, 9)
              .map(({ at }) => at)
              .join(", ")})`
      }`
    )
    yield* Console.log(`  --seed ${seed} --at ${first?.at}: ${first?.sent}`)
  }
  for (const line of wrong.slice(0, maxShown)) yield* Console.log(line)
  const total = report.findings.length + wrong.length
  yield* Console.log(total === 0 ? "nothing found" : `${total} findings`)
  if (total > 0) process.exitCode = 1
})

program.pipe(Effect.scoped, NodeRuntime.runMain)
