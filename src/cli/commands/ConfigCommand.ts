// `config check`: checks and prints the configuration of `serve`. It creates nothing and connects to nothing.
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import * as Settings from "../../process/settings/Settings.ts"
import { findMisspelled } from "../../process/settings/Variables.ts"
import { Environment, secretSettings, serveFlags, sourceOfFlags } from "../kit/Environment.ts"
import type { ServeFlagValues } from "../kit/Environment.ts"
import { CommandFailed, tableLines } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

type Source = readonly [name: string, values: Readonly<Record<string, string | undefined>>]

/** Any URL may contain credentials. */
const shown = (name: Settings.Name, value: string): string =>
  secretSettings.has(name) ? "(secret)" : value.replaceAll(/\/\/[^/@\s]*@/g, "//***@")

const row = ({ name, default: usual }: (typeof Settings.described)[number], sources: ReadonlyArray<Source>) => {
  for (const [source, values] of [...sources, ["default", { [name]: usual }] as const]) {
    const value = values[name]
    if (value !== undefined && value !== "") return [name, shown(name, value), source]
  }
  return [name, undefined, "not set"]
}

const check = Command.make(
  "check",
  serveFlags,
  Effect.fnUntraced(function* (given: ServeFlagValues) {
    const { variables, dotEnv } = yield* Environment
    const sources: ReadonlyArray<Source> = [
      ["flag", sourceOfFlags(given)],
      ["environment", variables],
      [".env", dotEnv]
    ]
    yield* Settings.decode(...sources.map(([, values]) => values)).pipe(
      Effect.mapError(({ message }) => CommandFailed.usage(message))
    )
    const rows = Settings.described.map((setting) => row(setting, sources))
    yield* Console.log(tableLines([["SETTING", "VALUE", "FROM"], ...rows]).join("\n"))
    for (const { variable, setting } of findMisspelled(variables, dotEnv)) {
      yield* Console.log(`\nwarning: ${variable} is not a setting: did you mean ${setting}?`)
    }
    yield* Console.log("\nthe configuration is valid")
  })
).pipe(
  Verb.about(
    "Check the configuration of serve: print every problem, or every setting with its source.",
    "config check",
    "config check --port 9090"
  )
)

export const ConfigCommand = Command.make("config").pipe(
  Verb.about("The configuration of the service.", "config check"),
  Command.withSubcommands([check])
)
