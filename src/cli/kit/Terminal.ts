// What a command reads and writes: files, text in columns, its failure as one line, and nothing when nobody reads any more.
import { Context, Effect, Ref, Runtime, Schema } from "effect"
import { CliOutput, Flag } from "effect/cli"
import * as fs from "node:fs/promises"
import { text } from "node:stream/consumers"

/** Scripts may rely on these. `serve` ends with 1 after any failure. */
export const exitCodes = {
  /** The service refused or failed. */
  refused: 1,
  /** The command line, a file that it names, or the configuration is invalid. */
  usage: 2,
  unreachable: 3,
  /** The API key is missing, unknown, or not allowed to do this. */
  unauthorized: 4
} as const

export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  exitCode: Schema.Literals(Object.values(exitCodes)),
  /** The status of the response, if there was one. */
  status: Schema.optionalKey(Schema.Int)
}) {
  override readonly [Runtime.errorExitCode] = this.exitCode

  static usage(message: string): CommandFailed {
    return new CommandFailed({ message, exitCode: exitCodes.usage })
  }
}

// Reads text from files and from standard input.

/** A file or a pipe, such as `/dev/stdin` or `<(pass show relayer)`. */
export const pathFlag = (name: string) => Flag.Path(name, { pathType: "either", typeName: "file" })

const attempt = (name: string, run: () => Promise<string>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      CommandFailed.usage(`cannot read ${name}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

export const readText = (path: string) => attempt(path, () => fs.readFile(path, "utf8"))

export const standardInput = attempt("standard input", () => text(process.stdin))

// Text in aligned columns.

/** Replaces characters that do not print, or that move the cursor, by `?`. The text may come from a user of the API. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "?")

/** Shown in an empty cell. */
const none = "-"

/** Each column is as wide as its widest cell. Two spaces separate columns, and no line ends with spaces. */
export const tableLines = (rows: ReadonlyArray<ReadonlyArray<string | undefined>>): ReadonlyArray<string> => {
  const cells = rows.map((row) => row.map((cell) => (cell === undefined || cell === "" ? none : printable(cell))))
  const widths: Array<number> = []
  for (const row of cells) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, CliOutput.displayWidth(cell))
    }
  }
  const pad = (cell: string, column: number) => cell + " ".repeat((widths[column] ?? 0) - CliOutput.displayWidth(cell))
  return cells.map((row) => row.map(pad).join("  ").trimEnd())
}

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null

const scalar = (value: unknown): string => (value === null ? none : String(value))

/** The fields of a JSON value with their paths: `policies.min_balance`, `custom_rpc_urls.0.url`. */
export const fieldRows = (value: unknown, path = ""): ReadonlyArray<readonly [path: string, value: string]> => {
  if (isScalar(value)) return [[path, scalar(value)]]
  if (Array.isArray(value) && value.every(isScalar)) return [[path, value.map(scalar).join(", ")]]
  return Object.entries(value as object).flatMap(([key, child]) =>
    fieldRows(child, path === "" ? key : `${path}.${key}`)
  )
}

// What happens to a command when nobody reads its output any more, such as in `… | head`: it ends, which is not a failure.

const GoesOn = Context.Reference("effect-relayer/cli/kit/Terminal/GoesOn", {
  defaultValue: () => Ref.makeUnsafe(false)
})

/** From now on, the command goes on without a reader: it makes changes, and its exit code says whether they were made. */
export const goOnUnread = Effect.flatMap(GoesOn, Ref.set(true))

/** The listener stays after an interruption, because the last write may fail later. */
const readerIsGone = Effect.callback<void>((resume) => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    resume(error.code === "EPIPE" ? Effect.void : Effect.die(error))
  })
})

/** Ends when the command has to end. */
export const endUnread = Effect.andThen(readerIsGone, GoesOn).pipe(
  Effect.flatMap(Ref.get),
  Effect.flatMap((goesOn) => (goesOn ? Effect.never : Effect.void))
)
