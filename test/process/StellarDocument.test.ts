// The blocks of docs/stellar.md for a first try, pasted as it says. Meanwhile the ledger is stopped and the service is killed.
// Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { freePort } from "../../testkit/process/Connection.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const root = path.resolve(import.meta.dirname, "../..")

/** The shell blocks of a chapter, in their order. */
const blocksOf = Effect.fnUntraced(function* (document: string, chapter: string) {
  const text = yield* Effect.promise(() => fs.readFile(path.join(root, document), "utf8"))
  const [, rest = ""] = text.split(`\n## ${chapter}\n`)
  const [commands = ""] = rest.split("\n## ")
  return [...commands.matchAll(/```sh\n([^]*?)```/g)].map(([, block = ""]) => block)
})

/** A shell in a folder that runs `commands`, and then those that it is given. What it started ends with the scope. */
const shell = Effect.fnUntraced(function* (cwd: string, env: Record<string, string>, commands = "") {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn("bash", [], { cwd, env: { PATH: process.env.PATH, ...env }, detached: true })),
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
  child.stdin.write(`${commands}\n`)
  let pasted = 0
  /** Runs a block, and returns what it writes. */
  const paste = Effect.fnUntraced(function* (block: string) {
    const from = output().length
    const end = `end of block ${pasted++}`
    child.stdin.write(`${block}\necho "${end}"\n`)
    const found = Effect.sync(() => (output().includes(end, from) ? output().slice(from) : undefined))
    return yield* until(`${end}, after ${block}`, found)
  })
  return { paste, errors, interrupt: Effect.sync(() => process.kill(-(child.pid ?? 0), "SIGINT")) }
})

const answers = (url: string) =>
  until(
    `an answer of ${url}`,
    Effect.promise(() =>
      fetch(url).then(
        () => true,
        () => undefined
      )
    )
  )

interface Listed {
  readonly status: string
  readonly ledger?: number
}

const payments = 20

const channels = 5

/** Stroops: two payments of one XLM. */
const twoPayments = 20_000_000

/** Milliseconds. The ledger closes every five seconds, and the service starts twice. */
const patience = 480_000

describe("docs/stellar.md", () => {
  it.live(
    "has commands that can be pasted, from the first payment to those around the death of the service",
    () =>
      Effect.gen(function* () {
        const home = yield* folder
        // A script of the document imports the library of the clone.
        yield* Effect.promise(() => fs.symlink(path.join(root, "node_modules"), path.join(home, "node_modules")))
        const [ledgerPort, port] = [yield* freePort, yield* freePort]
        const [ledgerUrl, baseUrl] = [`http://127.0.0.1:${ledgerPort}`, `http://127.0.0.1:${port}`]
        const env = { HOME: home, PORT: String(port), RELAYER_URL: baseUrl, NO_COLOR: "1" }
        const adapted = (block: string) =>
          block
            .replaceAll(/npm exec --call (["'])node (.*?)\1/g, `${process.execPath} $2`)
            .replaceAll("testkit/stellar/", `${root}/testkit/stellar/`)
            .replaceAll("--port 8000", `--port ${ledgerPort}`)
            .replaceAll("http://127.0.0.1:8000", ledgerUrl)
            .replaceAll("http://127.0.0.1:8080", baseUrl)
            .replaceAll(/npm start( --silent --)?/g, `${process.execPath} ${Service.sources}`)
        const blocks = (yield* blocksOf("docs/stellar.md", "Try it on this machine")).map(adapted)
        const [ledger = "", service = "", first = "", more = "", envelopes = "", ...others] = blocks
        const [whileStopped = "", afterwards = "", killed = "", again = "", ...rest] = others
        assert.isEmpty(rest, "the document has a block that is not pasted here")

        const ledgerShell = yield* shell(home, env, ledger)
        yield* shell(home, env, service)
        yield* Effect.all([answers(`${baseUrl}/api/v1/health`), answers(ledgerUrl)])
        const { errors, paste } = yield* shell(home, env)
        const confirmed = yield* paste(first)
        assert.match(confirmed, /^status +confirmed$/m, errors())
        assert.notInclude(confirmed, '"success":false')

        yield* paste(more)
        const key = yield* Effect.promise(() => fs.readFile(path.join(home, "data/api-key"), "utf8"))
        const settled = until(
          "the end of all transactions",
          Effect.map(
            Service.call(`${baseUrl}/api/v1/relayers/local/transactions?per_page=50`, { key: key.trim() }),
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
        yield* ledgerShell.interrupt
        yield* paste(whileStopped)
        yield* until(
          "providers_unavailable",
          Effect.map(paste(`curl -s -H "$auth" $api/relayers/local/transactions/$(newest)/explain`), (text) =>
            text.includes('"providers_unavailable"') ? true : undefined
          )
        )
        yield* shell(home, env, ledger)
        assert.match(yield* paste(afterwards), /^status +confirmed$/m, errors())

        const balanceIn = (text: string) => Number(/"balance":"(\d+)"/.exec(text)?.[1])
        const before = balanceIn(yield* paste(killed))
        yield* shell(home, env, service)
        yield* answers(`${baseUrl}/api/v1/health`)
        yield* paste(again)
        // On a busy machine, the payment of before the kill takes longer than the block waits.
        yield* settled
        assert.strictEqual(balanceIn(yield* paste("balance")), before + twoPayments)
      }),
    patience
  )
})
