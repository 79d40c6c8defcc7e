// `rotate-key`: encrypts all secrets with the new master key.
import { Command } from "effect/cli"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

export const RotateKeyCommand = Command.make("rotate-key", { given: Print.flags }, ({ given }) =>
  Print.one(given, (client) => client.masterKey.rotate({}))
).pipe(
  Verb.about(
    "Re-encrypt every secret with the STORAGE_ENCRYPTION_KEY of the service, or with a new key if the service keeps its own.",
    "rotate-key"
  )
)
