// Backups in memory: the lines that a backup file has.
import { Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import * as Backup from "../src/sql/backup/Backup.ts"
import * as Restore from "../src/sql/backup/Restore.ts"
import { validate } from "../src/sql/backup/Restore.ts"

/** The lines of a backup of the current database. */
export const snapshot = Effect.gen(function* () {
  const lines: Array<string> = []
  const hash = createHash("sha256")
  yield* Backup.take({
    write: (line) =>
      Effect.sync(() => {
        lines.push(line)
        hash.update(`${line}\n`)
      }),
    end: (footer) => Effect.sync(() => void lines.push(footer(hash.digest("hex")))),
    progress: () => Effect.void
  })
  return lines
})

/** Validates the lines, and restores them into the current database. */
export const restore = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
  const stream = Stream.fromIterable(lines)
  const { header } = yield* validate(stream)
  yield* Restore.restore({ header, lines: stream, progress: () => Effect.void })
})
