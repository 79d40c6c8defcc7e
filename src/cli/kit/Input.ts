// Reads text from files and from standard input.
import { Effect } from "effect"
import { Flag } from "effect/cli"
import * as fs from "node:fs/promises"
import { text } from "node:stream/consumers"
import { CommandFailed } from "./CommandFailed.ts"

/** A file or a pipe, such as `/dev/stdin` or `<(pass show relayer)`. */
export const file = (name: string) => Flag.Path(name, { pathType: "either", typeName: "file" })

const attempt = (name: string, run: () => Promise<string>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      CommandFailed.usage(`cannot read ${name}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

export const readText = (path: string) => attempt(path, () => fs.readFile(path, "utf8"))

export const standardInput = attempt("standard input", () => text(process.stdin))
