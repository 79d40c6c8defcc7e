// Signers of rrelayer whose keys stay in a key service: AWS KMS, Turnkey and PKCS#11.
import { path as at } from "../Source.ts"
import type { Fields } from "../Source.ts"
import type { Input } from "./Input.ts"
import type { Listed } from "./List.ts"
import { dropped, nameFor, once, referenceOf, wholeVariable } from "./SignerOf.ts"
import type { SignerOf } from "./SignerOf.ts"

/** The chain whose keys a relayer uses: a cloned relayer uses those of the first one. */
const keyChain = ({ chainId, clonedFromChainId }: Listed): number => clonedFromChainId ?? chainId

export const awsKms = (source: Fields, input: Input): SignerOf => {
  const { report } = input
  const region = source.required("region")
  const alias = source.text("danger_override_alias") ?? "rrelayer"
  const message = `the service logs in to AWS with its own credentials: give them kms:GetPublicKey and kms:Sign for alias/${alias}-wallet-*, and install @aws-sdk/client-kms`
  report.add(source.at, "needs", message)
  if (source.take("multi_region") !== undefined) {
    report.add(at(source.at, "multi_region"), "dropped", "only matters when keys are created")
  }
  if (source.take("endpoint_url") !== undefined) {
    report.add(
      at(source.at, "endpoint_url"),
      "invalid",
      "the service calls the endpoint of AWS: its keys cannot be imported"
    )
    return dropped
  }
  return (relayer) => {
    const name = `${relayer.walletIndex}-${keyChain(relayer)}`
    return once(input, source.at, `aws-kms-${name}`, {
      type: "aws_kms",
      config: { region, key_id: `alias/${alias}-wallet-${name}` }
    })
  }
}

export const turnkey = (source: Fields, input: Input): SignerOf => {
  const apiPublicKey = source.required("api_public_key")
  const organization = source.required("organization_id")
  source.take("wallet_id")
  const api_private_key = referenceOf(
    source.required("api_private_key"),
    at(source.at, "api_private_key"),
    ["turnkey", "api_private_key"],
    input
  )
  for (const value of [apiPublicKey, organization]) {
    const name = wholeVariable.exec(value)?.[1]
    if (name !== undefined) input.secrets.need(name)
  }
  const message = "set TURNKEY_PUBLIC_KEY_0 and so on to the public keys of the accounts, as Turnkey shows them"
  input.report.add(source.at, "needs", message)
  return ({ at: place, address, walletIndex }) => {
    const variable = nameFor(input, address, (suffix) => `TURNKEY_PUBLIC_KEY_${walletIndex}${suffix}`)
    input.secrets.need(variable)
    return once(input, place, `turnkey-${walletIndex}`, {
      type: "turnkey",
      config: {
        api_public_key: apiPublicKey,
        api_private_key,
        organization_id: organization,
        private_key_id: address,
        public_key: `\${${variable}}`
      }
    })
  }
}

export const pkcs11 = (source: Fields, input: Input): SignerOf => {
  const identity = source.required("identity")
  const library = source.required("library_path")
  const slot = source.take("slot_id")
  const givenPin = source.required("pin")
  if (source.take("test_mode") === true) {
    input.report.add(
      at(source.at, "test_mode"),
      "invalid",
      "the signatures of the test mode are no signatures: its keys cannot be imported"
    )
    return dropped
  }
  if (identity === "" || library === "" || givenPin === "") return dropped
  const pin = referenceOf(givenPin, at(source.at, "pin"), ["pkcs11", "pin"], input)
  const module = nameFor(input, library, (suffix) => `hsm${suffix}`, "-")
  const label = nameFor(
    input,
    JSON.stringify([library, slot === undefined ? undefined : String(slot)]),
    (suffix) => `PKCS11_TOKEN_LABEL${suffix}`
  )
  input.secrets.need(label)
  const message = `start the service with PKCS11_MODULES=${module}=${library}, and set ${label} to the label of the token${slot === undefined ? "" : ` in slot ${String(slot)}`}`
  input.report.add(source.at, "needs", message)
  return (relayer) => {
    const chain = keyChain(relayer)
    return once(input, source.at, `pkcs11-${chain}-${relayer.walletIndex}`, {
      type: "pkcs11",
      config: {
        module,
        token_label: `\${${label}}`,
        key_label: `rrelayer-${identity}-wallet-${chain}-${relayer.walletIndex}`,
        pin
      }
    })
  }
}
