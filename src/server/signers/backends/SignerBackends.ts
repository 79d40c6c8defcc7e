// All signer types. A new one needs a schema in `domain/`, a file here, and a line below.
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { Outbound } from "../../../outbound/Outbound.ts"
import { KeyDerivation } from "../../../threads/KeyDerivation.ts"
import { SignerSettings } from "../SignerSettings.ts"
import * as AwsClients from "./aws/AwsClients.ts"
import * as AwsKms from "./aws/AwsKms.ts"
import * as AzureEnvironment from "./azure/AzureEnvironment.ts"
import * as AzureKeyVault from "./azure/AzureKeyVault.ts"
import * as GoogleCloudKms from "./google/GoogleCloudKms.ts"
import * as Keystore from "./local/Keystore.ts"
import * as LocalKey from "./local/LocalKey.ts"
import * as Pkcs11 from "./pkcs11/Pkcs11.ts"
import * as Pkcs11Modules from "./pkcs11/Pkcs11Modules.ts"
import * as RemoteCalls from "./remote/RemoteCalls.ts"
import * as RemoteSigner from "./remote/RemoteSigner.ts"
import { SignerKinds } from "./SignerBackend.ts"
import * as Turnkey from "./turnkey/Turnkey.ts"
import * as Vault from "./vault/Vault.ts"
import * as VaultKv from "./vault/VaultKv.ts"
import * as VaultTransit from "./vault/VaultTransit.ts"

/** `SignerKinds` with the default layer. Features use `SignerKinds`, so that they do not depend on every key service. */
export class SignerBackends extends SignerKinds {
  static readonly layer = Layer.effect(
    SignerKinds,
    Effect.gen(function* () {
      const { client } = yield* Outbound
      const vault = yield* Vault.make(client)
      const settings = yield* SignerSettings
      const { azure = AzureEnvironment.none } = settings
      const remote = { calls: yield* RemoteCalls.make, settings }
      return SignerKinds.of({
        plain: LocalKey.plain(yield* SecureRandom.SecureRandom),
        local: LocalKey.local(Keystore.make(yield* KeyDerivation)),
        vault: VaultKv.make(vault),
        vault_transit: yield* VaultTransit.make(vault),
        pkcs11: RemoteSigner.make(Pkcs11.make(Pkcs11Modules.make(settings.pkcs11Modules ?? new Map())), remote),
        aws_kms: RemoteSigner.make(AwsKms.make(yield* AwsClients.make()), remote),
        google_cloud_kms: RemoteSigner.make(yield* GoogleCloudKms.make(client), remote),
        azure_key_vault: RemoteSigner.make(yield* AzureKeyVault.make(client, azure), remote),
        turnkey: RemoteSigner.make(yield* Turnkey.make(client), remote)
      })
    })
  ).pipe(Layer.provide([KeyDerivation.layer, SecureRandom.layerWebCrypto]))
}
