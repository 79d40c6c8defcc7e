// The blocks of docs/stellar.md for a first try, pasted next to `effect-relayer dev`. Meanwhile the ledger is stopped and the service is killed.
// Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { freePort } from "../../testkit/process/Ports.ts"
import { makeProgram } from "../../testkit/process/Commands.ts"
import * as Development from "../../testkit/process/Development.ts"
import { until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const root = path.resolve(import.meta.dirname, "../..")

/** The shell blocks of a chapter, in their order. */
const blocksOf = Effect.fnUntraced(function* (document: string, chapter: string) {
  const text = yield* Effect.promise(() => fs.readFile(path.join(root, document), "utf8"))
  const [, rest = ""] = text.split(`\n## ${chapter}\n`)
  const [commands = ""] = rest.split("\n## ")
  return [...commands.matchAll(/```sh\n([^]*?)```/g)].map(([, block = ""]) => block)
})

/** A shell in a folder. What it started ends with the scope. */
const shell = Effect.fnUntraced(function* (cwd: string, env: Record<string, string>) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn("bash", [], { cwd, env, detached: true })),
    (started) =>
      Effect.promise(async () => {
        const ended = new Promise((resolve) => started.once("close", resolve))
        if (started.exitCode === null && started.signalCode === null) {
          process.kill(-(started.pid ?? 0), "SIGKILL")
          await ended
        }
      })
  )
  const output = Service.collect(child.stdout)
  const errors = Service.collect(child.stderr)
  let pasted = 0
  /** Runs a block, and returns what it writes. */
  const paste = Effect.fnUntraced(function* (block: string) {
    const from = output().length
    const end = `end of block ${pasted++}`
    child.stdin.write(`${block}\necho "${end}"\n`)
    const found = Effect.sync(() => (output().includes(end, from) ? output().slice(from) : undefined))
    return yield* until(`${end}, after ${block}`, found)
  })
  return { paste, errors }
})

interface Listed {
  readonly status: string
  readonly ledger?: number
}

const payments = 20

const channels = 5

/** Stroops: two payments of one XLM, and that of a start of `dev`. */
const paid = 20_010_000

/** Milliseconds. The service starts twice, and its provider does not answer for 20 seconds. */
const patience = 480_000

describe("docs/stellar.md", () => {
  it.live(
    "has commands that can be pasted, from the first payment to those around the death of the service",
    () =>
      Effect.gen(function* () {
        const place = yield* Development.usualPlace
        const port = yield* freePort
        const start = Development.start(place, { env: { PORT: String(port) } })
        const { home } = place
        // A script of the document imports the library of the clone.
        yield* Effect.promise(() => fs.symlink(path.join(root, "node_modules"), path.join(home, "node_modules")))
        const dev = yield* start
        const originOf = ({ stellar }: Effect.Success<typeof start>) => new URL(stellar.chainUrl).origin
        const ledger = (yield* Development.processes(place)).find(({ args }) =>
          args.some((arg) => /testkit\/stellar\/main\.[jt]s$/.test(arg))
        )
        const programs = `${yield* makeProgram}:${process.env.PATH}`
        const env = { PATH: programs, HOME: home, RELAYER_URL: dev.baseUrl, NO_COLOR: "1" }
        const adapted = (block: string) =>
          block
            .replaceAll(/npm exec --call (["'])node (.*?)\1/g, `${process.execPath} $2`)
            .replaceAll("$(pgrep -f testkit/stellar/main.ts)", String(ledger?.pid))
            .replaceAll("http://127.0.0.1:8000", originOf(dev))
            .replaceAll("http://127.0.0.1:8080", dev.baseUrl)
            .replaceAll("npm start --silent --", "command effect-relayer")
        const blocks = (yield* blocksOf("docs/stellar.md", "Try it on this machine")).map(adapted)
        const [first = "", more = "", envelopes = "", whileStopped = "", killed = "", again = "", ...rest] = blocks
        assert.isEmpty(rest, "the document has a block that is not pasted here")

        const { errors, paste } = yield* shell(home, env)
        const confirmed = yield* paste(first)
        assert.match(confirmed, /^status +confirmed$/m, errors())
        assert.notInclude(confirmed, '"success":false')

        yield* paste(more)
        const settled = until(
          "the end of all transactions",
          Effect.map(
            Service.call(`${dev.baseUrl}/api/v1/relayers/local/transactions?per_page=50`, { key: dev.key }),
            ({ text }) => {
              const rows = (JSON.parse(text) as { readonly data: ReadonlyArray<Listed> }).data
              return rows.every(({ status }) => status === "confirmed") ? rows : undefined
            }
          )
        )
        const listed = (yield* settled).slice(0, payments)
        const perLedger = [...Map.groupBy(listed, ({ ledger: number }) => number).values()].map((rows) => rows.length)
        assert.strictEqual(listed.length, payments)
        assert.isAtMost(Math.max(...perLedger), channels)
        assert.isAbove(Math.max(...perLedger), 1)

        const answered = yield* paste(envelopes)
        assert.strictEqual([...answered.matchAll(/"success":true/g)].length, 2, answered)
        assert.include(answered, "operation_not_allowed: operation 1 is accountMerge")

        yield* settled
        const stopped = yield* paste(whileStopped)
        assert.include(stopped, '"providers_unavailable"', errors())
        assert.match(stopped, /^status +confirmed$/m, errors())

        const balanceIn = (text: string) => Number(/"balance":"(\d+)"/.exec(text)?.[1])
        const before = balanceIn(yield* paste(killed))
        yield* dev.exited
        const next = yield* start
        assert.strictEqual(next.stellar.states.at(-1), "confirmed")
        yield* paste(`ledger=${originOf(next)}`)
        yield* paste(again)
        // On a busy machine, the payment of before the kill takes longer than the block waits.
        yield* settled
        assert.strictEqual(balanceIn(yield* paste("balance")), before + paid)
      }),
    patience
  )
})
