// Sends invalid requests, and bytes that are not a request, to a service of its own. A finding names the seed and the number of its
// case, with which the case can be repeated alone.
//
//   npm run fuzz -- --count 100000 --seed 1
//   npm run fuzz -- --short
//   npm run fuzz -- --seed 1 --at 4711
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as fs from "node:fs"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import * as Fuzz from "./Fuzz.ts"
import * as OpenApi from "./OpenApi.ts"
import * as Subject from "./Subject.ts"

/** Cases of a run, and of a run with `--short`: a minute or less. */
const fullCount = 100_000
const shortCount = 4000

const integer = (name: string, about: string) => Flag.Int(name).pipe(Flag.withDescription(about))

const flags = {
  count: integer("count", `Cases of the run (default ${fullCount}, with --short ${shortCount})`).pipe(Flag.optional),
  short: Flag.Boolean("short").pipe(Flag.withDescription("A run of a minute or less"), Flag.withDefault(false)),
  seed: integer("seed", "Seed of the random choices (default 1)").pipe(Flag.withDefault(1)),
  from: integer("from", "Number of the first case (default 0)").pipe(Flag.withDefault(0)),
  at: integer("at", "Runs only the case of this number").pipe(Flag.optional),
  port: integer(
    "port",
    "Port of a running service with the settings of faults/fuzz/Subject.ts (default: starts one)"
  ).pipe(Flag.optional),
  keyFile: Flag.String("key-file").pipe(
    Flag.withDescription("File with the API key of that service (default data/api-key)"),
    Flag.withDefault("data/api-key")
  ),
  concurrency: integer("concurrency", "Requests at the same time (default 16)").pipe(Flag.withDefault(16))
}

type Given = Command.Command.Config.Infer<typeof flags>

/** Memory is measured ten times. */
const measurements = 10

/** The bytes by which memory may grow from the third measurement, when the code is warm, to the last. */
const maxGrowth = 128 * 2 ** 20

/** The number of findings that are printed. */
const maxShown = 40

/** Groups findings by their problem. */
const kinds = (findings: ReadonlyArray<Fuzz.Finding>) =>
  [...Map.groupBy(findings, ({ what }) => what.slice(0, 90))].slice(0, maxShown)

const encryptionKey = Buffer.alloc(32, 9).toString("base64")

const run = Effect.fnUntraced(function* (given: Given) {
  const { at, concurrency, keyFile, seed, short } = given
  const { service, world, port } = Option.isNone(given.port)
    ? yield* Subject.start(yield* folder, { API_KEY: Service.apiKey, STORAGE_ENCRYPTION_KEY: encryptionKey })
    : yield* Subject.existing(given.port.value, fs.readFileSync(keyFile, "utf8").trim())
  const count = Option.isSome(at) ? 1 : Option.getOrElse(given.count, () => (short ? shortCount : fullCount))
  const part = Math.ceil(count / measurements)
  const started = performance.now()
  const memory = [yield* Subject.residentBytes(service)]
  const options = { port, world, secrets: [encryptionKey], seed, concurrency }
  const first = Option.getOrElse(at, () => given.from)
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
  const never = OpenApi.operations.map(({ id }) => id).filter((id) => !report.succeeded.has(id))
  yield* Console.log(`operations that never succeeded: ${never.length === 0 ? "none" : never.join(", ")}`)
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

export const command = Command.make("fuzz", flags, (given) => Effect.scoped(run(given)))

if (import.meta.main)
  command.pipe(Command.run({ version: "1" }), Effect.provide(NodeServices.layer), NodeRuntime.runMain)
