// `local`: the key of a keystore, which is opened once. The service keeps the key, not the keystore.
import { Effect } from "effect"
import type { Open } from "./Keystore.ts"
import * as LocalKey from "./LocalKey.ts"
import type { SignerKind } from "./SignerBackend.ts"

export const make = (open: Open): SignerKind<"local"> => ({
  column: "key",
  worksOutside: true,
  prepare: ({ keystore, passphrase }) => Effect.map(open(keystore, passphrase), (secret) => ({ config: {}, secret })),
  open: ({ secret }) => LocalKey.make(secret)
})
