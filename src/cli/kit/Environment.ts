// The environment variables and the lines of `.env` as values. Only main.ts reads the environment.
import { Context, Effect } from "effect"

export type Variables = Readonly<Record<string, string | undefined>>

export class Environment extends Context.Service<
  Environment,
  {
    readonly variables: Variables
    /** The lines of `.env`. */
    readonly dotEnv: Variables
  }
>()("effect-relayer/cli/kit/Environment") {
  /** Reads the environment first, then `.env`. An empty value counts as unset. */
  static readonly read = (name: string): Effect.Effect<string | undefined, never, Environment> =>
    Effect.map(Environment, ({ variables, dotEnv }) =>
      [variables[name], dotEnv[name]].find((value) => value !== undefined && value !== "")
    )
}
