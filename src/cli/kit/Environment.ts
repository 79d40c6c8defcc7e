// The environment variables and the lines of `.env` as values. Only main.ts reads the environment.
import { Context, Effect } from "effect"

export type Variables = Readonly<Record<string, string | undefined>>

interface Found {
  readonly value: string
  readonly inDotEnv: boolean
}

/** An empty value counts as unset. */
const nonEmpty = (value: string | undefined) => (value === "" ? undefined : value)

export class Environment extends Context.Service<
  Environment,
  {
    readonly variables: Variables
    /** The lines of `.env`. */
    readonly dotEnv: Variables
    /** Whether the standard output is a terminal. */
    readonly isTerminal: boolean
  }
>()("effect-relayer/cli/kit/Environment") {
  /** Searches the environment first, then `.env`. */
  static readonly find = (name: string): Effect.Effect<Found | undefined, never, Environment> =>
    Effect.map(Environment, ({ variables, dotEnv }) => {
      const set = nonEmpty(variables[name])
      const value = set ?? nonEmpty(dotEnv[name])
      return value === undefined ? undefined : { value, inDotEnv: set === undefined }
    })

  static readonly read = (name: string): Effect.Effect<string | undefined, never, Environment> =>
    Effect.map(Environment.find(name), (found) => found?.value)
}
