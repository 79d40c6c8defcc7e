// All signer types. A new one needs a schema in `domain/`, a file here, and a line below.
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SignerType } from "../../../domain/signer/Signer.ts"
import { Outbound } from "../../../outbound/Outbound.ts"
import { KeyDerivation } from "../../../threads/KeyDerivation.ts"
import { SignerSettings } from "../SignerSettings.ts"
import * as AwsClients from "./aws/AwsClients.ts"
import * as AwsKms from "./aws/AwsKms.ts"
import * as AzureEnvironment from "./azure/AzureEnvironment.ts"
import * as AzureKeyVault from "./azure/AzureKeyVault.ts"
import * as GoogleCloudKms from "./google/GoogleCloudKms.ts"
import * as Keystore from "./Keystore.ts"
import * as Local from "./Local.ts"
import * as Pkcs11 from "./pkcs11/Pkcs11.ts"
import * as Pkcs11Modules from "./pkcs11/Pkcs11Modules.ts"
import * as Plain from "./Plain.ts"
import * as RemoteCalls from "./remote/RemoteCalls.ts"
import * as RemoteSigner from "./remote/RemoteSigner.ts"
import type { SignerKind } from "./SignerBackend.ts"
import * as Turnkey from "./turnkey/Turnkey.ts"
import * as Vault from "./Vault.ts"
import * as VaultKv from "./VaultKv.ts"
import * as VaultTransit from "./VaultTransit.ts"

/** A host program may replace a type, for example to keep the keys of `plain` signers in its own store. */
export class SignerBackends extends Context.Service<SignerBackends, { readonly [T in SignerType]: SignerKind<T> }>()(
  "effect-relayer/server/signers/backends/SignerBackends"
) {
  /** @internal */
  static readonly layerNoDeps = Layer.effect(
    SignerBackends,
    Effect.gen(function* () {
      const { client } = yield* Outbound
      const vault = yield* Vault.make(client)
      const settings = yield* SignerSettings
      const { azure = AzureEnvironment.none } = settings
      const remote = { calls: yield* RemoteCalls.make, settings }
      return SignerBackends.of({
        plain: Plain.make(yield* SecureRandom.SecureRandom),
        local: Local.make(Keystore.make(yield* KeyDerivation)),
        vault: VaultKv.make(vault),
        vault_transit: VaultTransit.make(vault),
        pkcs11: RemoteSigner.make(Pkcs11.make(Pkcs11Modules.make(settings.pkcs11Modules ?? new Map())), remote),
        aws_kms: RemoteSigner.make(AwsKms.make(yield* AwsClients.make()), remote),
        google_cloud_kms: RemoteSigner.make(yield* GoogleCloudKms.make(client), remote),
        azure_key_vault: RemoteSigner.make(yield* AzureKeyVault.make(client, azure), remote),
        turnkey: RemoteSigner.make(yield* Turnkey.make(client), remote)
      })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide([KeyDerivation.layer, SecureRandom.layerWebCrypto]))
}
