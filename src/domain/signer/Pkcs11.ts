// Where a key is in a token of PKCS#11: a hardware security module, or a program that emulates one.
import { Schema } from "effect"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { maybe, text } from "../request/Text.ts"

/** A name, never a path, because the code of a library runs in the service. */
const Module = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,31}$/u, { expected: "a name of PKCS11_MODULES" })
)

const KeyId = Schema.String.check(
  Schema.isPattern(/^([0-9a-f]{2}){1,64}$/u, { expected: "1 to 64 bytes as hex digits in lower case" })
)

const module = "Name of the module, as PKCS11_MODULES of the service defines it."
const tokenLabel = "Label of the token."
const tokenSerial = "Serial number of the token."
const keyLabel = "Label (CKA_LABEL) of the private key."
const keyId = "Id (CKA_ID) of the key in hex."

const wanted = {
  module: field(Module, module, "hsm"),
  token_label: field(text(1, 32), tokenLabel, "relayer"),
  token_serial: maybe(text(1, 16), {
    description: `${tokenSerial} It is needed if several tokens have this label.`,
    examples: ["bddb53699fe07764"]
  }),
  key_label: maybe(text(1, 255), {
    description: `${keyLabel} \`key_label\` or \`key_id\` is required; together they have to name exactly one key.`,
    examples: ["hot-1"]
  }),
  key_id: maybe(KeyId, { description: keyId, examples: ["01"] })
}

export const requested = {
  ...wanted,
  pin: field(Schema.RedactedFromValue(text(1, 255)), "PIN of the user of the token.", "1234")
}

/** Without a label and an id, the request names no key. */
export const namesKey = Schema.makeFilter(({ key_id, key_label }: Partial<Record<"key_id" | "key_label", string>>) =>
  key_id === undefined && key_label === undefined
    ? { path: ["key_label"], issue: "is required if key_id is absent" }
    : undefined
)

const Name = Shown.shaped(/^[a-z]{1,12}(-[0-9])?$/)

/** The fields that are not secret. */
export const shown = {
  module: field(Name, module, "hsm"),
  token_label: field(Name, tokenLabel, "relayer"),
  token_serial: field(Shown.hex(16), tokenSerial, "bddb53699fe07764"),
  key_label: Schema.optionalKey(field(Name, keyLabel, "hot-1")),
  key_id: Schema.optionalKey(field(Shown.hex(2), keyId, "01"))
}
