// `claims`: claims a name, makes the claim final, shows and releases it.
import { Command } from "effect/cli"
import * as Verb from "../kit/Verb.ts"

export const ClaimsCommand = Command.make("claims").pipe(
  Verb.about("Claims of names, with which workers do a thing once.", "claims get nightly-report-2026-01-02"),
  Command.withSubcommands([
    Verb.call("take", "claims.take", [
      "claims take --name nightly-report-2026-01-02 --by $RUN --seconds 60",
      "claims take --name nightly-report-2026-01-02 --by $RUN --final"
    ]),
    Verb.call("get", "claims.get", ["claims get nightly-report-2026-01-02"], { flags: { name: "name" } }),
    Verb.call("release", "claims.release", ["claims release nightly-report-2026-01-02 --by $RUN"], {
      flags: { name: "name" }
    })
  ])
)
