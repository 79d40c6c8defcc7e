// What the commands that open the database themselves have in common: their errors, and their log on the standard error.
import { Effect, Logger } from "effect"
import * as StartFailed from "../../process/StartFailed.ts"
import { DatabaseError } from "../../sql/DatabaseError.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"

export const refused = (message: string) => new CommandFailed({ message, exitCode: exitCodes.refused })

const toCommandFailed = (error: { readonly message: string }): CommandFailed => {
  if (error instanceof CommandFailed) return error
  return refused(error instanceof DatabaseError ? StartFailed.fromDatabase(error).message : error.message)
}

export const report = <A, E extends { readonly message: string }, R>(self: Effect.Effect<A, E, R>) =>
  self.pipe(
    Effect.mapError(toCommandFailed),
    Effect.provide(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]))
  )
