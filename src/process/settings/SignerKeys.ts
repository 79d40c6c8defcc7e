// The keys that signers may use by a login of the service itself, as the setting SIGNER_KEYS lists them.
import { Schema } from "effect"
import { CommaSeparated } from "../../outbound/CommaSeparated.ts"

/** An entry names a key, or what contains it. There are no patterns: an asterisk would be a part of no name. */
const isEntry = (text: string) => /^[^\s*,]+$/u.test(text) && /[:/]/u.test(text)

const SignerKeys = Schema.Array(Schema.String).check(
  Schema.makeFilter((entries: ReadonlyArray<string>) => {
    const wrong = entries.findIndex((entry) => !isEntry(entry))
    if (wrong === -1) return undefined
    return `entry ${wrong + 1}: expected an ARN, a resource name of Google or the URL of a vault, without an asterisk`
  })
)

/** `arn:aws:kms:eu-west-1:111122223333,projects/payments/locations/europe-west1`. */
export const FromText = CommaSeparated.pipe(Schema.decodeTo(SignerKeys))
