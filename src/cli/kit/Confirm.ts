// Asks before a command does what cannot be undone, unless it has `--yes`.
import { Effect } from "effect"
import { Flag } from "effect/cli"
import { createInterface } from "node:readline/promises"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"

export const flag = Flag.Boolean("yes").pipe(
  Flag.withAlias("y"),
  Flag.withoutNegation,
  Flag.withDescription("Do not ask; required if the input or the output is not a terminal"),
  Flag.withDefault(false)
)

const answer = (question: string) =>
  Effect.callback<string>((resume) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    // Without a line, the input has ended, which is no consent.
    lines.once("close", () => resume(Effect.succeed("")))
    lines.once("SIGINT", () => lines.close())
    void lines.question(`${question} [y/N] `).then((line) => {
      resume(Effect.succeed(line))
      // An open input would keep the process from ending.
      lines.close()
    })
    return Effect.sync(() => lines.close())
  }).pipe(Effect.map((line) => line.trim().toLowerCase()))

/** `action` is an imperative sentence without its end: `delete the signer hot-1`. Fails unless the user agrees. */
export const ask = Effect.fnUntraced(function* (yes: boolean, action: string) {
  if (yes) return
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    return yield* CommandFailed.usage(`this would ${action}: add --yes to do it without a question`)
  }
  const given = yield* answer(`${action.slice(0, 1).toUpperCase()}${action.slice(1)}?`)
  if (given === "y" || given === "yes") return
  return yield* new CommandFailed({ message: "nothing was changed", exitCode: exitCodes.refused })
})
