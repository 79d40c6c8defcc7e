// All signer types. A new one needs a schema in `domain/`, a file here, and a line below.
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { Outbound } from "../../../outbound/Outbound.ts"
import { KeyDerivation } from "../../../threads/KeyDerivation.ts"
import * as Pkcs11 from "./pkcs11/Pkcs11.ts"
import { noAzureEnvironment, SignerSettings } from "../SignerSettings.ts"
import * as AwsKms from "./AwsKms.ts"
import { makeAwsCall } from "./AwsKms.ts"
import * as AzureKeyVault from "./AzureKeyVault.ts"
import * as GoogleCloudKms from "./GoogleCloudKms.ts"
import * as LocalKey from "./LocalKey.ts"
import { keystoreOpener } from "./LocalKey.ts"
import * as RemoteSigner from "./RemoteSigner.ts"
import { makeRemoteCalls } from "./RemoteSigner.ts"
import { SignerKinds } from "./SignerBackend.ts"
import * as Turnkey from "./Turnkey.ts"
import * as Vault from "./Vault.ts"

/** `SignerKinds` with the default layer. Features use `SignerKinds`, so that they do not depend on every key service. */
export class SignerBackends extends SignerKinds {
  static readonly layer = Layer.effect(
    SignerKinds,
    Effect.gen(function* () {
      const { client } = yield* Outbound
      const vault = yield* Vault.make(client)
      const settings = yield* SignerSettings
      const { azure = noAzureEnvironment } = settings
      const remote = { calls: yield* makeRemoteCalls, settings }
      return SignerKinds.of({
        plain: LocalKey.plain(yield* SecureRandom.SecureRandom),
        local: LocalKey.local(keystoreOpener(yield* KeyDerivation)),
        vault: Vault.keyValue(vault),
        vault_transit: yield* Vault.transit(vault),
        pkcs11: RemoteSigner.make(Pkcs11.make(settings.pkcs11Modules ?? new Map()), remote),
        aws_kms: RemoteSigner.make(AwsKms.make(yield* makeAwsCall()), remote),
        google_cloud_kms: RemoteSigner.make(yield* GoogleCloudKms.make(client), remote),
        azure_key_vault: RemoteSigner.make(yield* AzureKeyVault.make(client, azure), remote),
        turnkey: RemoteSigner.make(yield* Turnkey.make(client), remote)
      })
    })
  ).pipe(Layer.provide([KeyDerivation.layer, SecureRandom.layerWebCrypto]))
}
