// The disk of DATA_DIR fills up under load, and is freed again. A small tmpfs is the disk.
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { postgresPid, until } from "../testkit/process/Folder.ts"
import * as Postmaster from "../src/sql/embedded/Postmaster.ts"
import type { Case } from "./Case.ts"
import * as Requests from "./Requests.ts"
import * as Sql from "./Sql.ts"
import * as Whole from "./Whole.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const megabytes = 192

/** That the disk is full each time. */
const milliseconds = 5000

/** Whatever PostgreSQL still runs on it ends first. */
const mount = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      fs.mkdirSync(folder, { mode: 0o711 })
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=711`, "effect-relayer-faults", folder])
    }),
    () =>
      Effect.gen(function* () {
        const pid = yield* postgresPid(folder)
        if (pid !== undefined) yield* Postmaster.stop(pid)
        yield* Effect.sync(() => execFileSync("umount", ["--lazy", folder]))
      })
  )

/** To the last byte. */
const fill = (file: string): void => {
  const handle = fs.openSync(file, "w")
  try {
    for (const size of [1_048_576, 4096, 1]) {
      const chunk = Buffer.alloc(size)
      try {
        for (;;) fs.writeSync(handle, chunk)
      } catch {
        // No space left for a piece of this size.
      }
    }
  } finally {
    fs.closeSync(handle)
  }
}

export const FullDisk: Case = {
  name: "full-disk",
  promise: "a full disk: reads go on, writes get 503 with Retry-After, both are back when there is space; nothing lost",
  run: (context) =>
    Effect.gen(function* () {
      const { tally } = context
      if (process.getuid?.() !== 0 || process.platform !== "linux") {
        tally.skipped = "a tmpfs is mounted by root on Linux only"
        return
      }
      const world = yield* World.make
      yield* mount(world.dataDir)
      const service = yield* world.listen()
      const ledger = new Writer.Ledger()
      const writer = yield* Writer.start({ baseUrl: () => service.baseUrl, prefix: "d", lanes: 8, ledger })
      yield* Effect.sleep(2000)

      const ballast = path.join(world.dataDir, "ballast")
      /** What is answered while the disk is full, and how soon a write succeeds when it no longer is. */
      const whileFull = Effect.fnUntraced(function* (alsoWhile: Effect.Effect<void>) {
        yield* Effect.sync(() => fill(ballast))
        const from = ledger.outcomes.length
        yield* alsoWhile
        const reads = yield* Effect.promise(async () => {
          const outcomes: Array<Requests.Outcome> = []
          for (const end = performance.now() + milliseconds; performance.now() < end;) {
            outcomes.push(await Requests.send(`${service.baseUrl}/api/v1/relayers`))
          }
          return outcomes
        })
        const writes = ledger.outcomes.slice(from)
        yield* Effect.sync(() => fs.rmSync(ballast))
        const backAt = performance.now()
        const again = () => ledger.outcomes.find(({ endedAt, status }) => endedAt > backAt && status === 201)
        yield* until("a write", Effect.sync(again))
        tally.add("fills")
        const odd = [...reads, ...writes].find(({ status }) => ![200, 201, 503].includes(status))
        tally.expect(odd === undefined, `answers are good or 503: ${odd?.status} ${odd?.text}`)
        const refused = [...reads, ...writes].filter(({ status }) => status === 503)
        tally.expect(refused.length > 0, "the disk was full enough to refuse")
        tally.expect(
          refused.every(({ retryAfter }) => retryAfter !== undefined),
          "a 503 says when to come back"
        )
        return { reads, writes, back: (again()?.endedAt ?? Infinity) - backAt }
      })

      for (let count = 1; count <= 3; count++) {
        const { back, reads, writes } = yield* whileFull(Effect.void)
        tally.add("reads", reads.length)
        tally.add("writes refused", writes.filter(({ status }) => status === 503).length)
        tally.max("written again after ms", back)
        tally.expect(
          reads.every(({ status }) => status === 200),
          `reads go on: ${Requests.statuses(reads)}`
        )
        tally.expect(back < 2000, `writes are back within 2 s: ${back.toFixed(0)} ms`)
      }
      // The end of its log: where that has no space for the next piece, PostgreSQL ends itself, until there is.
      const { back, reads } = yield* whileFull(
        Effect.ignoreCause(Sql.run(yield* world.database, "SELECT pg_switch_wal()::text"))
      )
      const ended = service.stdout().match(/the embedded PostgreSQL ended/g)?.length ?? 0
      tally.set("reads without a log", Requests.statuses(reads))
      tally.set("restarts of PostgreSQL", ended)
      tally.set("back after ms", Math.round(back))
      tally.expect(back < 8000, `it is back within 8 s: ${back.toFixed(0)} ms`)
      yield* writer.stop
      tally.set("acknowledged", ledger.acknowledged)
      yield* Whole.check(context, service, ledger)
      yield* Whole.checkRows(context, yield* world.database)
    })
}
