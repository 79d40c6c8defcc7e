// Progress of a long command, on the standard error if that is a terminal.
import { Effect } from "effect"

const lineOf = (table: string, rows: number) => `\r\u001b[K${table}: ${rows} rows`

/** Replaces the line that it has written before. */
export const rows = (table: string, rows: number): Effect.Effect<void> =>
  Effect.sync(() => {
    if (process.stderr.isTTY) process.stderr.write(lineOf(table, rows))
  })

/** Removes the line. */
export const end: Effect.Effect<void> = Effect.sync(() => {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K")
})
