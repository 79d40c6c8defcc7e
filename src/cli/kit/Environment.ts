// What the process was given beside its flags, as values: only main.ts reads it.
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
  /** From the environment, then from `.env`; an empty one counts as not set. */
  static readonly read = (name: string): Effect.Effect<string | undefined, never, Environment> =>
    Effect.map(Environment, ({ variables, dotEnv }) =>
      [variables[name], dotEnv[name]].find((value) => value !== undefined && value !== "")
    )
}
