// `rotate-key`: wraps all secrets anew.
import { Command } from "effect/cli"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

export const RotateKeyCommand = Command.make("rotate-key", { given: Print.flags }, ({ given }) =>
  Print.one(given, (client) => client.masterKey.rotate({}))
).pipe(
  Verb.about(
    "Wrap every secret anew under the STORAGE_ENCRYPTION_KEY of the service, or under a new key where it keeps its own.",
    "rotate-key"
  )
)
