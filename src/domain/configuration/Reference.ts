// References to secrets: what a file has in the place of a secret, such as a URL that contains a key.
import { Schema } from "effect"
import { field } from "../request/Field.ts"
import { text } from "../request/Shown.ts"

/** POSIX names of environment variables. */
export const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/u

const VariableName = Schema.String.check(
  Schema.isPattern(variableName, { expected: "the name of an environment variable" })
)

/** Longest path of a file, as in Linux. */
const maxPathLength = 4096

const FromEnvironment = Schema.Struct({
  env: field(VariableName, "Environment variable that has the value.", "RELAYER_WEBHOOK_SIGNING_KEY")
}).annotate({ identifier: "FromEnvironment" })

const FromFile = Schema.Struct({
  file: field(
    text(1, maxPathLength),
    "File that has the value, relative to this file. One final newline is removed.",
    "keys/treasury.json"
  )
}).annotate({ identifier: "FromFile" })

const Stored = Schema.Struct({
  stored: field(Schema.Literal(true), "The service keeps the value that it has.", true)
}).annotate({ identifier: "Stored" })

/** A value that is set from outside of the document. */
export const ValueReference = Schema.Union([FromEnvironment, FromFile]).annotate({
  identifier: "ValueReference",
  description: "Where the value is."
})

export const SecretReference = Schema.Union([FromEnvironment, FromFile, Stored]).annotate({
  identifier: "SecretReference",
  description: "Where the secret is. A secret is never a part of the file."
})

/** A path of BIP-32, such as that of the first account of Ethereum. */
export const derivationPath = /^m(\/(0|[1-9]\d{0,9})'?){1,10}$/u

const Mnemonic = Schema.Struct({
  mnemonic: ValueReference,
  path: field(
    Schema.String.check(Schema.isPattern(derivationPath, { expected: "a derivation path such as m/44'/60'/0'/0/0" })),
    "Path of the key (BIP-32).",
    "m/44'/60'/0'/0/0"
  )
}).annotate({ identifier: "MnemonicReference", description: "A key that is derived from a mnemonic on this machine." })

const Generate = Schema.Struct({
  generate: field(Schema.Literal(true), "The service generates the key when it creates the signer.", true)
}).annotate({ identifier: "GenerateKey" })

/** The private key of a signer of type plain. */
export const KeyReference = Schema.Union([FromEnvironment, FromFile, Stored, Mnemonic, Generate]).annotate({
  identifier: "KeyReference",
  description: "Where the key is. A key is never a part of the file."
})

// Recognizes URLs that probably contain a key.

/** Keys of providers have more characters than the words of paths. */
const minKeyLength = 20

const isKey = (part: string): boolean =>
  part.length >= minKeyLength && /^[A-Za-z0-9_-]+$/u.test(part) && /[A-Za-z]/u.test(part) && /[0-9]/u.test(part)

/** Whether the path or the query has a long part of letters and digits, or the URL has user information. */
export const looksLikeKey = (url: string): boolean => {
  const parsed = URL.parse(url)
  if (parsed === null) return false
  if (parsed.username + parsed.password !== "") return true
  return `${parsed.pathname}${parsed.search}`.split(/[/?&=.,;:~+]/u).some(isKey)
}
