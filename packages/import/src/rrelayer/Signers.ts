// The signers of the accounts of rrelayer: of a mnemonic, of private keys, or of a key service. Each is added once.
import { english, mnemonicToAccount, privateKeyToAccount } from "viem/accounts"
import { variableName } from "../../../../src/domain/configuration/Reference.ts"
import * as Imported from "../Imported.ts"
import { fields, path as at } from "../Source.ts"
import type { Fields } from "../Source.ts"
import type { Input, Listed } from "./Input.ts"

/** The id of the signer of a relayer, or undefined if the account cannot be imported. */
export type SignerOf = (relayer: Listed) => string | undefined

const dropped = (): undefined => undefined

/** `${NAME}` alone. */
export const wholeVariable = /^\$\{([^}]+)\}$/

/** A reference to a secret: a variable stays one, and a literal value moves into the secrets file. */
export const referenceOf = (
  value: string,
  place: string,
  nameParts: ReadonlyArray<string | number>,
  { report, secrets }: Imported.Context
): { readonly env: string } => {
  const name = wholeVariable.exec(value)?.[1]
  if (name !== undefined && variableName.test(name)) {
    secrets.need(name)
    return { env: name }
  }
  const moved = secrets.move(nameParts, value)
  report.add(place, "note", `is a secret in the file: moved to ${moved} in the secrets file`)
  return { env: moved }
}

/** The value of a text that may be a variable, if this machine has it. */
export const knownValue = (text: string | undefined, { variables }: Input): string | undefined => {
  const name = wholeVariable.exec(text ?? "")?.[1]
  return name === undefined ? text : variables[name]
}

/** The name, or with a number the next one, that stands for the thing and for nothing else. */
const nameFor = ({ names }: Input, thing: string, numbered: (suffix: string) => string, separator = "_"): string => {
  for (let next = 1; ; next += 1) {
    const name = numbered(next === 1 ? "" : `${separator}${next}`)
    const known = names.get(name)
    if (known !== undefined && known !== thing) continue
    names.set(name, thing)
    return name
  }
}

/** Adds a signer once. The same id of another provider, which has other keys, gets a number. */
const once = (input: Input, place: string, base: string, body: object): string | undefined => {
  const id = nameFor(input, JSON.stringify(body), (suffix) => `${base}${suffix}`, "-")
  if (input.document.signers.has(id)) return id
  return Imported.add(input, "signers", id, body, place) ? id : undefined
}

/** The chain whose keys a relayer uses: a cloned relayer uses those of the first one. */
const keyChain = ({ chainId, clonedFromChainId }: Listed): number => clonedFromChainId ?? chainId

const awsKms = (source: Fields, input: Input): SignerOf => {
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

const turnkey = (source: Fields, input: Input): SignerOf => {
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

const pkcs11 = (source: Fields, input: Input): SignerOf => {
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
  const message = `install @effect-relayer/signer-pkcs11 and pkcs11js, start the service with PKCS11_MODULES=${module}=${library}, and set ${label} to the label of the token${slot === undefined ? "" : ` in slot ${String(slot)}`}`
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

const pathOf = (index: number): string => `m/44'/60'/0'/0/${index}`

const addressOf = (derive: () => { readonly address: string }): string | undefined => {
  try {
    return derive().address.toLowerCase()
  } catch {
    return undefined
  }
}

/** Reports an account whose key is not the one that rrelayer listed. */
const matches = (relayer: Listed, derived: string | undefined, place: string, { report }: Input): boolean => {
  if (derived === relayer.address) return true
  const message =
    derived === undefined
      ? "is no valid key"
      : `the key of index ${relayer.walletIndex} has the account ${derived}, and the list has ${relayer.address}: ${report.leftOut(relayer.id)}`
  report.add(derived === undefined ? place : at(relayer.at, "address"), "invalid", message)
  return false
}

const words: ReadonlySet<string> = new Set(english)

const isPhrase = (text: string): boolean => {
  const given = text.trim().split(/\s+/)
  return given.length >= 12 && given.length <= 24 && given.length % 3 === 0 && given.every((word) => words.has(word))
}

type Phrase = { readonly reference: object; readonly value: string | undefined; readonly at: string }

const fromMnemonic =
  (phrase: Phrase, prefix: string, input: Input): SignerOf =>
  (relayer) => {
    const { walletIndex } = relayer
    const path = pathOf(walletIndex)
    const { value } = phrase
    if (value !== undefined) {
      const derived = addressOf(() => mnemonicToAccount(value, { path: path as "m/44'/60'/0'" }))
      if (!matches(relayer, derived, phrase.at, input)) return undefined
    }
    return once(input, relayer.at, `${prefix}-${walletIndex}`, {
      type: "plain",
      config: { key: { mnemonic: phrase.reference, path } }
    })
  }

/** The value of a reference, if this machine has it. */
const valueOf = ({ env }: { readonly env: string }, { secrets, variables }: Input): string | undefined =>
  secrets.moved.get(env) ?? variables[env]

const raw = (source: Fields, input: Input): SignerOf => {
  const place = at(source.at, "mnemonic")
  const given = source.required("mnemonic")
  if (given === "") return dropped
  // What is no phrase must not reach the secrets file.
  if (wholeVariable.exec(given) === null && !isPhrase(given)) {
    input.report.add(
      place,
      "invalid",
      "is no mnemonic: expected 12, 15, 18, 21 or 24 words of the English list of BIP-39"
    )
    return dropped
  }
  const reference = referenceOf(given, place, ["raw", "mnemonic"], input)
  const value = valueOf(reference, input)
  if (value === undefined) {
    input.report.add(
      place,
      "needs",
      `the variable ${reference.env} is not set, so that the accounts were not compared with the list: set it and import again, or compare them after the apply`
    )
  }
  return fromMnemonic({ reference, value, at: place }, "raw", input)
}

/** A mnemonic in a secret manager. The user reads it into a file once. */
const managed =
  (kind: string, fieldNames: ReadonlyArray<string>) =>
  (source: Fields, input: Input): SignerOf => {
    const id = source.required("id")
    const key = source.required("key")
    const secret = JSON.stringify([kind, id, key, ...fieldNames.map((name) => source.text(name))])
    const file = nameFor(input, secret, (suffix) => `mnemonic${suffix}.txt`, "-")
    input.report.add(
      source.at,
      "needs",
      `write the field ${key} of the secret ${id}, which is the mnemonic, into the file ${file} beside the written file, before you plan it`
    )
    return fromMnemonic({ reference: { file }, value: undefined, at: source.at }, kind, input)
  }

/** Index −1 is the first key, −2 the second. */
const privateKeys = (values: ReadonlyArray<unknown>, place: string, input: Input): SignerOf => {
  const keys = values.map((value, index) => {
    const source = fields(value, `${place}.${index}`, input.report)
    const given = source.required("raw")
    source.end()
    return referenceOf(given, at(source.at, "raw"), ["private_key", index + 1], input)
  })
  return (relayer) => {
    const index = -relayer.walletIndex - 1
    const key = keys[index]
    if (key === undefined) {
      input.report.add(
        at(relayer.at, "walletIndex"),
        "invalid",
        `there is no private key ${index + 1}: ${input.report.leftOut(relayer.id)}`
      )
      return undefined
    }
    const value = valueOf(key, input)
    const keyPlace = `${place}.${index}.raw`
    if (value === undefined) {
      input.report.add(
        keyPlace,
        "needs",
        `the variable ${key.env} is not set, so that the account was not compared with the list: set it and import again, or compare it after the apply`
      )
    } else {
      const hex: `0x${string}` = `0x${value.replace(/^0x/, "")}`
      if (
        !matches(
          relayer,
          addressOf(() => privateKeyToAccount(hex)),
          keyPlace,
          input
        )
      )
        return undefined
    }
    return once(input, keyPlace, `private-key-${index + 1}`, { type: "plain", config: { key } })
  }
}

const without =
  (kind: string, names: ReadonlyArray<string>) =>
  (source: Fields, input: Input): SignerOf => {
    for (const name of names) source.take(name)
    const message = `signers of ${kind} do not exist here, and its keys cannot leave it; create signers and move the funds`
    input.report.add(source.at, "dropped", message)
    return dropped
  }

const kinds: Readonly<Record<string, (source: Fields, input: Input) => SignerOf>> = {
  raw,
  aws_kms: awsKms,
  aws_secret_manager: managed("aws-secret", ["region"]),
  gcp_secret_manager: managed("gcp-secret", ["version", "service_account_key_path"]),
  turnkey,
  pkcs11,
  privy: without("privy", ["app_id", "app_secret"]),
  fireblocks: without("fireblocks", ["api_key", "private_key_path", "identity", "sandbox", "hidden_on_ui"])
}

/** The signers of a provider, which is global or that of a network. Undefined if there is none. */
export const readProvider = (source: Fields | undefined, input: Input): SignerOf | undefined => {
  if (source === undefined) return undefined
  const keys = source.take("private_keys")
  const byKey = Array.isArray(keys) ? privateKeys(keys, at(source.at, "private_keys"), input) : undefined
  const found = Object.entries(kinds).flatMap(([kind, read]) => {
    const inner = source.object(kind)
    if (inner === undefined) return []
    const signerOf = read(inner, input)
    inner.end()
    return [signerOf]
  })
  source.end()
  if (byKey !== undefined) found.push(byKey)
  const [first, ...others] = found
  if (first === undefined) {
    input.report.add(source.at, "invalid", `expected one of private_keys, ${Object.keys(kinds).join(", ")}`)
    return dropped
  }
  if (others.length > 0) {
    input.report.add(source.at, "invalid", "has two kinds of signers; the old service takes exactly one")
    return dropped
  }
  return first
}
