// `pkcs11` against SoftHSM.
import { Layer } from "effect"
import { SignerSettings } from "../../src/server/signers/SignerSettings.ts"
import * as SoftHsm from "../../testkit/signers/SoftHsm.ts"
import * as SoftHsmLibrary from "../../testkit/signers/SoftHsmLibrary.ts"
import { contract } from "../server/signers/remote/contract.ts"

const settings = Layer.succeed(SignerSettings, { pkcs11Modules: new Map([["soft", SoftHsmLibrary.library]]) })

const noHttp = "a library does not answer with HTTP"

contract("pkcs11", ["secp256k1", "ed25519"], Layer.provideMerge(SoftHsm.layer, settings), {
  html: noHttp,
  "html of a proxy": noHttp,
  "throttled for a second": "a library names no time",
  "throttled for a minute": "a library names no time",
  "clock skew": "a library needs no clock",
  "expired login": "the login to a token does not expire",
  "no such key": "the key is looked for in the token, not by the library",
  "moved alias": "the request names the label of the key, and the signer keeps the key that it found"
})
