// The disk of DATA_DIR, a small tmpfs, fills up under load and is freed again.
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { postgresPid, until } from "../testkit/process/Folder.ts"
import * as Postmaster from "../src/sql/embedded/Postmaster.ts"
import type { Case } from "./Case.ts"
import * as Requests from "./Requests.ts"
import * as Sql from "./Sql.ts"
import * as World from "./World.ts"
import * as Writing from "./Writing.ts"

const megabytes = 192

/** How long the disk is full each time. */
const milliseconds = 5000

/** A PostgreSQL that still runs on it is stopped first. */
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

/** Fills the disk to the last byte. */
const fill = (file: string): void => {
  const handle = fs.openSync(file, "w")
  try {
    for (const size of [1_048_576, 4096, 1]) {
      const chunk = Buffer.alloc(size)
      try {
        for (;;) fs.writeSync(handle, chunk)
      } catch {
        // There is no space for a block of this size.
      }
    }
  } finally {
    fs.closeSync(handle)
  }
}

export const FullDisk: Case = {
  name: "full-disk",
  promise:
    "a full disk: reads succeed, writes get 503 with Retry-After, both succeed when there is space; nothing is lost",
  run: (context) =>
    Effect.gen(function* () {
      const { tally } = context
      if (process.getuid?.() !== 0 || process.platform !== "linux") {
        tally.skipped = "only root on Linux can mount a tmpfs"
        return
      }
      const world = yield* World.make
      yield* mount(world.dataDir)
      const service = yield* world.listen()
      const database = yield* world.database
      yield* Writing.during(
        context,
        { service, database },
        Effect.fnUntraced(function* (ledger) {
          yield* Effect.sleep(2000)

          const ballast = path.join(world.dataDir, "ballast")
          /** The responses while the disk is full, and the time until a write succeeds when there is space again. */
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
            tally.expect(odd === undefined, `responses are successful or 503: ${odd?.status} ${odd?.text}`)
            const refused = [...reads, ...writes].filter(({ status }) => status === 503)
            tally.expect(refused.length > 0, "writes were refused")
            tally.expect(
              refused.every(({ retryAfter }) => retryAfter !== undefined),
              "a 503 has Retry-After"
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
              `reads succeed: ${Requests.statuses(reads)}`
            )
            tally.expect(back < 2000, `writes succeed within 2 s: ${back.toFixed(0)} ms`)
          }
          // PostgreSQL stops when there is no space for the next segment of its write-ahead log, until there is space.
          const { back, reads } = yield* whileFull(
            Effect.ignoreCause(Sql.run(database, "SELECT pg_switch_wal()::text"))
          )
          const ended = service.stdout().match(/the embedded PostgreSQL ended/g)?.length ?? 0
          tally.set("reads without WAL space", Requests.statuses(reads))
          tally.set("restarts of PostgreSQL", ended)
          tally.set("back after ms", Math.round(back))
          tally.expect(back < 8000, `writes succeed within 8 s: ${back.toFixed(0)} ms`)
        })
      )
    })
}
