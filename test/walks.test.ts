// Counts the files of src/ that run between a request and its end, by the coverage that V8 measures: a stranger who follows a
// transaction has to open these files. The chains of the tests make blocks by the clock of the machine, so it is the real one. The bounds only fall:
// a change that raises one says why in its commit.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { Session } from "node:inspector/promises"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as LanesJob from "../src/server/lanes/LanesJob.ts"
import * as DeliveryJob from "../src/server/notifications/delivery/DeliveryJob.ts"
import * as Anvil from "../testkit/Anvil.ts"
import { evmRelayer, signer } from "../testkit/fixtures.ts"
import { until } from "../testkit/process/Folder.ts"
import * as Prepared from "../testkit/Prepared.ts"
import * as Receiver from "../testkit/Receiver.ts"
import * as Stellar from "../testkit/stellar/Relayers.ts"
import * as TestApi from "../testkit/TestApi.ts"
import { sol, transfer } from "./networks/solana/lane/World.ts"
import * as Solana from "./networks/solana/requests/Relayers.ts"

const sources = `${path.resolve("src")}${path.sep}`

/** The coverage of this process, from which what ran before a walk is left out. */
const coverage = Effect.acquireRelease(
  Effect.promise(async () => {
    const session = new Session()
    session.connect()
    await session.post("Profiler.enable")
    await session.post("Debugger.enable")
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
    return session
  }),
  (session) =>
    Effect.promise(async () => {
      await session.post("Profiler.stopPreciseCoverage")
      session.disconnect()
    })
)

/** vitest gives each export a function that reads it. Such a function is no step of a walk. */
const isExport = (text: string, start: number) =>
  /__vite_ssr_exportName__\("\w+", $/.test(text.slice(Math.max(0, start - 200), start))

/** The files of `src/` in which a function ran since this was called before. */
const taken = (session: Session) =>
  Effect.promise(async () => {
    const { result } = await session.post("Profiler.takePreciseCoverage")
    const files = new Set<string>()
    for (const { functions, scriptId, url } of result) {
      const file = url.startsWith("file:") ? fileURLToPath(url) : url
      if (!file.startsWith(sources)) continue
      const { scriptSource } = await session.post("Debugger.getScriptSource", { scriptId })
      const ran = functions.flatMap(({ ranges: [whole] }) => (whole === undefined || whole.count === 0 ? [] : [whole]))
      if (ran.some(({ startOffset }) => !isExport(scriptSource, startOffset))) files.add(file.slice(sources.length))
    }
    return [...files].toSorted()
  })

/** Timers, reconnections and jobs run at any time, so that a file counts if each of these walks runs it. */
const counted = 3

/**
 * The walk of `what` runs at most this many files, which the error lists if there are more. The first walk is not counted: it fills what
 * a process keeps.
 */
const bounded = Effect.fnUntraced(function* <A, E, R>(what: string, most: number, walk: Effect.Effect<A, E, R>) {
  const session = yield* coverage
  yield* walk
  yield* taken(session)
  const walks = yield* Effect.forEach(Array.from({ length: counted }), () => Effect.andThen(walk, taken(session)))
  const [first = [], ...others] = walks
  const files = first.filter((file) => others.every((other) => other.includes(file)))
  yield* Effect.sync(() => process.stdout.write(`${what} runs ${files.length} files\n`))
  assert.isAtMost(files.length, most, `${what} runs more than ${most} files:\n${files.join("\n")}`)
  assert.isAbove(files.length, most / 2, `the coverage of ${what} is not complete`)
})

/** Without other jobs, whose files run at any time. */
const sending = Layer.provideMerge(LanesJob.layer, TestApi.layer()).pipe(Layer.provideMerge(Logger.layer([])))

/** Read from the table, since an answer of the service would run further files. */
const isConfirmed = Effect.fnUntraced(function* ({ json, status, text }: TestApi.Answer) {
  assert.strictEqual(status, 200, text)
  const sql = yield* SqlClient.SqlClient
  const { id } = json.data as { readonly id: string }
  const rows = Effect.orDie(sql`SELECT id FROM transactions WHERE id = ${id} AND state = 'confirmed'`)
  yield* until(
    "the confirmation",
    Effect.map(rows, (found) => found[0])
  )
})

layer(sending, { excludeTestServices: true })(
  "the files that a transfer runs, from its request until it is confirmed",
  (it) => {
    it.effect("are bounded on evm", () =>
      Effect.gen(function* () {
        const chain = yield* Anvil.start({ blockTime: 1 })
        const id = randomUUID()
        const network = { name: id, network_type: "evm", chain_id: chain.chainId, symbol: "ETH", features: ["eip1559"] }
        yield* Prepared.create("networks", {
          ...network,
          rpc_urls: [chain.url],
          average_blocktime_ms: 1000,
          required_confirmations: 1
        })
        yield* Prepared.create("signers", { id, type: "plain" })
        const relayer = { id, name: "R", network: id, network_type: "evm", paused: false, signer_id: id }
        const { address } = (yield* Prepared.create("relayers", relayer)) as { readonly address?: string }
        yield* chain.fund(address ?? "", 10n ** 18n)
        const body = { to: Anvil.funded, value: "1", gas_limit: 21_000 }
        yield* bounded(
          "a transfer on evm",
          103,
          Effect.flatMap(TestApi.call(`/api/v1/relayers/${id}/transactions`, { body }), isConfirmed)
        )
      })
    )

    it.effect("are bounded on solana", () =>
      Effect.gen(function* () {
        const { address, send } = yield* Solana.relayerAt()
        yield* bounded(
          "a transfer on solana",
          103,
          Effect.flatMap(
            Effect.suspend(() => send(transfer(address, sol / 1000n))),
            isConfirmed
          )
        )
      })
    )

    it.effect("are bounded on stellar", () =>
      Effect.gen(function* () {
        const { address, send } = yield* Stellar.relayerAt()
        yield* bounded(
          "a transfer on stellar",
          105,
          Effect.flatMap(
            Effect.suspend(() => send(Stellar.pay(address, 1n))),
            isConfirmed
          )
        )
      })
    )
  }
)

layer(Layer.provideMerge(DeliveryJob.layer, TestApi.layer()), { excludeTestServices: true })(
  "the files that a webhook runs, from a change of its relayer until it is received",
  (it) => {
    it.effect("are bounded", () =>
      Effect.gen(function* () {
        const receiver = yield* Receiver.make
        const id = "walk"
        yield* Prepared.create("notifications", { id, url: receiver.url })
        yield* Prepared.create("signers", { ...signer, id })
        yield* Prepared.create("relayers", { ...evmRelayer, id, signer_id: id, notification_id: id })
        const before = receiver.seen.length
        let changes = 0
        const change = Effect.suspend(() =>
          TestApi.call(`/api/v1/relayers/${id}`, { method: "PATCH", body: { name: `R${++changes}` } })
        )
        const walk = Effect.gen(function* () {
          const { status, text } = yield* change
          assert.strictEqual(status, 200, text)
          yield* receiver.arrived(before + changes)
          // The delivery is settled after the answer of the receiver.
          const sql = yield* SqlClient.SqlClient
          const pending = Effect.orDie(sql`SELECT id FROM deliveries WHERE state = 'pending'`)
          yield* until(
            "the settled delivery",
            Effect.map(pending, (rows) => (rows.length === 0 ? true : undefined))
          )
        })
        yield* bounded("a webhook", 43, walk)
      })
    )
  }
)
