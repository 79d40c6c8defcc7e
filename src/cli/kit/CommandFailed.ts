// The failure of a command: one line for the user, and the exit code.
import { Runtime, Schema } from "effect"

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
