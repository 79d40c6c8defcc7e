// A backup as a file: gzip, readable only by its owner, complete or absent.
import { Effect, Exit, Stream } from "effect"
import type { Scope } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"
import * as Durable from "../embedded/Durable.ts"
import { BackupError } from "./Snapshot.ts"
import type { Sink } from "./Snapshot.ts"

const failed = (action: string) => (cause: unknown) =>
  new BackupError({ message: `cannot ${action}: ${cause instanceof Error ? cause.message : String(cause)}`, cause })

/** Fastest level: a third of the size of the text, at the speed of a disk. */
const compression = { level: 1 }

/**
 * Writes to `FILE.partial`; closing the scope after a success syncs it to disk and gives it its name, which must be free.
 * After a failure nothing remains.
 */
export const create = (
  file: string,
  progress: Sink<BackupError>["progress"]
): Effect.Effect<Sink<BackupError>, BackupError, Scope.Scope> =>
  Effect.gen(function* () {
    const partial = `${file}.partial`
    const action = `write ${file}`
    if (fs.existsSync(file)) return yield* new BackupError({ message: `${file} exists: name a new file` })
    const gzip = createGzip(compression)
    const descriptor = yield* Effect.try({ try: () => fs.openSync(partial, "w", 0o600), catch: failed(action) })
    const written = pipeline(gzip, fs.createWriteStream(partial, { fd: descriptor, flush: true }))
    // The failure is reported by the write that meets it, or at the end.
    written.catch(() => undefined)
    yield* Effect.addFinalizer((exit) =>
      Exit.isSuccess(exit)
        ? Effect.void
        : Effect.promise(async () => {
            gzip.destroy()
            await written.catch(() => undefined)
            fs.rmSync(partial, { force: true })
          })
    )
    const hash = createHash("sha256")
    const push = (line: string) =>
      Effect.callback<void, BackupError>((resume) => {
        gzip.write(`${line}\n`, (cause) => resume(cause ? Effect.fail(failed(action)(cause)) : Effect.void))
      })
    return {
      progress,
      write: (line) =>
        Effect.andThen(
          Effect.sync(() => hash.update(line).update("\n")),
          push(line)
        ),
      end: (footer) =>
        push(footer(hash.digest("hex"))).pipe(
          Effect.andThen(
            Effect.tryPromise({
              try: async () => {
                gzip.end()
                await written
                // Fails if another process has created a file of this name meanwhile.
                fs.linkSync(partial, file)
                fs.unlinkSync(partial)
                await Durable.syncFolder(path.dirname(path.resolve(file)))
              },
              catch: failed(action)
            })
          )
        )
    }
  })

/** The lines of a file; each run reads it anew. */
export const lines = (file: string): Stream.Stream<string, BackupError> =>
  Stream.suspend(() =>
    Stream.fromAsyncIterable(
      fs.createReadStream(file).compose(createGunzip()) as AsyncIterable<Uint8Array>,
      failed(`read ${file}`)
    )
  ).pipe(Stream.decodeText, Stream.splitLines)
