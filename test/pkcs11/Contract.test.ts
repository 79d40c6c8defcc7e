// `pkcs11` against SoftHSM.
import { Layer } from "effect"
import { SignerSettings } from "../../src/server/signers/SignerSettings.ts"
import * as SoftHsm from "../../testkit/signers/SoftHsm.ts"
import * as SoftHsmLibrary from "../../testkit/signers/SoftHsmLibrary.ts"
import { contract } from "../server/signers/remote/contract.ts"

const settings = Layer.succeed(SignerSettings, { pkcs11Modules: new Map([["soft", SoftHsmLibrary.library]]) })

contract("pkcs11", ["secp256k1", "ed25519"], Layer.provideMerge(SoftHsm.layer, settings))
