// `local`: the key of a keystore, which is opened once and not kept.
import { Effect } from "effect"
import * as Keystore from "./Keystore.ts"
import * as LocalKey from "./LocalKey.ts"
import type { SignerKind } from "./SignerBackend.ts"

export const local: SignerKind<"local"> = {
  column: "key",
  worksOutside: true,
  prepare: ({ keystore, passphrase }) =>
    Effect.map(Keystore.open(keystore, passphrase), (secret) => ({ config: {}, secret })),
  open: ({ secret }) => LocalKey.make(secret)
}
